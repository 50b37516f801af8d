import type { Role } from "../../access/api-key.ts";

/** The role that each method of the service requires. */
export const METHOD_ROLES = {
  CheckRateLimit: "check",
  GetRemainingQuota: "check",
  ResetLimit: "write",
  CheckRateLimitBatch: "check",
  CheckRateLimitStream: "check",
  Refund: "check",
  Penalize: "check",
  Reserve: "check",
  ReserveBatch: "check",
  Extend: "check",
  ExtendBatch: "check",
  Settle: "check",
  SettleBatch: "check",
  Release: "check",
  ReleaseBatch: "check",
} as const satisfies Readonly<Record<string, Role>>;

export type MethodName = keyof typeof METHOD_ROLES;

const PREFIX = "/headgate.v1.RateLimiter/";

export function pathOf(name: MethodName): string {
  return PREFIX + name;
}

/** The method that a path names; undefined for health and reflection, which need no key. */
export function methodOf(path: string): MethodName | undefined {
  const name = path.slice(PREFIX.length);
  return path.startsWith(PREFIX) && isMethodName(name) ? name : undefined;
}

function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(METHOD_ROLES, name);
}
