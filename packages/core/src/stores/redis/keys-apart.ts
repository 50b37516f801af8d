import { HeadgateError, shown } from "../../errors.ts";
import type { Operation } from "../store.ts";

/** A script call can access keys of one slot, and all limits of one identity are in one slot. */
export function keysApart(operations: readonly Operation[]): HeadgateError | undefined {
  const [{ key }] = operations;
  const other = operations.findIndex((operation) => operation.key !== key);
  if (other < 0) return undefined;
  return new HeadgateError(
    "HG_KEYS_APART",
    `checks[${other}].key`,
    `must be ${shown(key)} as in checks[0]: a Redis Cluster keeps different keys on different servers, so they cannot be charged in one step`,
  );
}
