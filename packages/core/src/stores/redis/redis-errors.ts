import { StoreError } from "../../errors.ts";

/** What to do about errors of a server, by their first word. */
const advice: Readonly<Record<string, string>> = {
  READONLY: "this server is a replica, and replicas never decide: use the address of the master",
  LOADING: "the server is still loading its data",
  BUSY: "the server is busy running another script",
  OOM: "the server has no memory left: raise maxmemory, or use a separate server for counters",
  MISCONF: "the server cannot save its data and rejects writes",
  NOAUTH: "the server requires a password: put it in the URL or the client's options",
  WRONGPASS: "the user name or password is wrong",
  NOPERM:
    "this user needs EVAL, EVALSHA and the commands that the script uses (docs/stores/redis.md), on the store's prefix",
  WRONGTYPE: "the key has a value of another type: use another prefix for the store",
  CLUSTERDOWN:
    "the cluster has no master for some slots; set cluster-require-full-coverage to no, so that it keeps serving the others",
  MASTERDOWN: "the server is a replica without its master",
  CROSSSLOT: "this is a node of a Redis Cluster: pass a Cluster client made with clusterOptions",
  MOVED: "this is a node of a Redis Cluster: pass a Cluster client made with clusterOptions",
};

/** The error of a script that accesses a key while the cluster is down, instead of CLUSTERDOWN. */
const DOWN = "while the cluster is down";

/** The messages of Redis and Valkey when a script runs a command that its user may not run; they lack NOPERM. */
const IN_SCRIPT = /can't run this command|ACL failure in script/;

const OF_CALL = { scope: "call" } as const;

/** An error reply of a server. Only its text is kept, because the client's error may contain a password. */
export function refusal(message: string, scope: StoreError["scope"] = "call"): StoreError {
  const said = message.includes(DOWN) && !message.startsWith("CLUSTERDOWN") ? `CLUSTERDOWN ${message}` : message;
  const word = IN_SCRIPT.test(said) ? "NOPERM" : said.split(" ", 1)[0];
  const what = said.includes("cluster support disabled")
    ? "this server is not a node of a Redis Cluster: use its URL alone, as in redis://host:6379"
    : said.includes("SELECT is not allowed")
      ? "this is a node of a Redis Cluster, which has only database 0: leave the database out of the URL"
      : advice[word.replace(/^-/, "")];
  return new StoreError("HG_STORE_REFUSED", what === undefined ? said : `${what} (${said})`, { scope });
}

/** Converts the client's error. `trouble` is the problem with its connection, if any. */
export function storeError(error: unknown, trouble?: Error): StoreError {
  if (error instanceof StoreError) return error;
  const cause = isReply(error) ? error : (trouble ?? error);
  if (cause instanceof StoreError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  if (isReply(cause)) return refusal(message);
  if (/timed? ?out/i.test(message))
    return new StoreError("HG_STORE_TIMEOUT", `Redis does not answer (${message})`, OF_CALL);
  // ioredis's advice about its settings would lead users to change those that prevent charging twice.
  const said = /enableOfflineQueue|maxRetriesPerRequest/.test(message) ? "" : ` (${message})`;
  const what = "there is no connection to Redis, or it was lost: check the address and whether the server is running";
  return new StoreError("HG_STORE_UNREACHABLE", `${what}${said}`, OF_CALL);
}

function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === "ReplyError";
}

/** The script was flushed, or this server has never seen it. */
export function isScriptMissing(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}

/** A cluster node that does not serve a key: its slot has moved or is moving, or the node is now a replica. */
export function isElsewhere(error: unknown): boolean {
  return error instanceof Error && /non local key|READONLY/.test(error.message);
}

/** A replica, which does not accept writes. */
export function isReadOnly(error: Error | undefined): boolean {
  return error?.message.startsWith("READONLY") ?? false;
}

/** A cluster that is currently down. Nothing was charged, and it may recover. */
export function isClusterDown(error: unknown): boolean {
  return error instanceof Error && /CLUSTERDOWN|while the cluster is down/.test(error.message);
}

/** An error that only cluster nodes return. */
export function isOfCluster(error: unknown): boolean {
  return (
    error instanceof Error &&
    (/^(MOVED|ASK|TRYAGAIN|CROSSSLOT|CLUSTERDOWN) /.test(error.message) || isClusterDown(error))
  );
}

/** A cluster node that has given away the key's slot, or is about to. */
export function isRedirection(error: unknown): boolean {
  return error instanceof Error && /^(MOVED|ASK|TRYAGAIN) /.test(error.message);
}

export function tooLate(): StoreError {
  return new StoreError("HG_STORE_TIMEOUT", "the request could not be sent to Redis in time; nothing was charged");
}

export function unanswered(timeoutMs: number): StoreError {
  return new StoreError("HG_STORE_TIMEOUT", `Redis did not answer within ${timeoutMs} ms`, OF_CALL);
}

export function storeClosed(): StoreError {
  return new StoreError("HG_STORE_UNREACHABLE", "this store is closed: create a new one");
}
