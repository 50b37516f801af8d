import { Exception } from "node-zookeeper-client";
import { HeadgateError, StoreError } from "../../errors.ts";

/** The error code of ZooKeeper, if the error has one. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Exception ? error.getCode() : undefined;
}

/** Whether a write failed because the znode had changed. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error);
  return code === Exception.BAD_VERSION || code === Exception.NO_NODE || code === Exception.NODE_EXISTS;
}

export function isMissing(error: unknown): boolean {
  return codeOf(error) === Exception.NO_NODE;
}

export function unreachable(reason: string): StoreError {
  const what =
    "there is no connection to ZooKeeper, or it was lost: check the addresses and whether the servers are running";
  return new StoreError("HG_STORE_UNREACHABLE", `${what} (${reason})`, { scope: "call" });
}

export function closed(): StoreError {
  return new StoreError("HG_STORE_UNREACHABLE", "this store is closed: create a new one");
}

export function tooLate(): StoreError {
  return new StoreError("HG_STORE_TIMEOUT", "the request could not be sent to ZooKeeper in time; nothing was charged");
}

/** A znode that cannot be used. The error concerns one key and says nothing about others. */
export function unusableZnode(path: string, problem: string): StoreError {
  return new StoreError("HG_STORE_REFUSED", `${path} ${problem}`, { scope: "key" });
}

/** Converts the error of a call. */
export function storeError(error: unknown): HeadgateError {
  if (error instanceof HeadgateError) return error;
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code === Exception.CONNECTION_LOSS || code === Exception.SESSION_EXPIRED) return unreachable(message);
  const isForbidden = code === Exception.NO_AUTH || code === Exception.AUTH_FAILED;
  const advice =
    "this user may not create, read, write and delete under the store's root: check its ACL and the option auth";
  return new StoreError("HG_STORE_REFUSED", isForbidden ? `${advice} (${message})` : message, { scope: "call" });
}
