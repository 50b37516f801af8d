import { type Decision, gcra, rateLimiter, type Store, type Verdict } from "headgate";
import { RedisStore } from "headgate/redis";
import type { AsyncChecker } from "../../subjects/subject.ts";
import type { SharedLimiterOptions } from "./subject.ts";

export async function make(options: SharedLimiterOptions): Promise<AsyncChecker> {
  return checker(new RedisStore(options.url), options);
}

export function checker(store: Store, { limit, windowMs, limits }: SharedLimiterOptions): AsyncChecker {
  const rule = gcra({ limit, windowMs });
  if (limits === undefined) {
    const limiter = rateLimiter({ api: rule }, { store });
    return { kind: "async", check: (key) => limiter.check("api", key), allowed };
  }
  const names = Array.from({ length: limits }, (_, i) => `limit-${i}`);
  const limiter = rateLimiter(Object.fromEntries(names.map((name) => [name, rule])), { store });
  return { kind: "async", check: (key) => limiter.checkAll(names.map((name) => ({ rule: name, key }))), allowed };
}

/** Decisions of a fallback do not count, because Redis was not asked. */
function allowed(decision: Decision | Verdict): boolean {
  return decision.allowed && !decision.degraded;
}
