import type { Limiter } from "../limiter/limiter.ts";
import type { MaybePromise } from "../limiter/maybe-promise.ts";
import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { Check } from "../limiter/requests.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import type { Outcome } from "./admission.ts";

/** Takes the quota for a request, without a promise where possible. */
export function take<R extends Rules>(
  limiter: Limiter<R>,
  checks: readonly Check<RuleName<R>>[],
): MaybePromise<Outcome> {
  return isSync(limiter) ? takeSync(limiter, checks) : takeSoon(limiter, checks);
}

/** Whether the limiter works entirely in this process. */
export function isSync<R extends Rules>(limiter: Limiter<R>): limiter is MemoryLimiter<R> {
  return "checkSync" in limiter;
}

function takeSync<R extends Rules>(limiter: MemoryLimiter<R>, checks: readonly Check<RuleName<R>>[]): Outcome {
  if (checks.length > 1) return limiter.checkAllSync(checks);
  const { rule, key, cost = 1 } = checks[0];
  return cost === 1 ? limiter.checkSync(rule, key) : limiter.checkSync(rule, key, { cost });
}

function takeSoon<R extends Rules>(limiter: Limiter<R>, checks: readonly Check<RuleName<R>>[]): Promise<Outcome> {
  if (checks.length > 1) return limiter.checkAll(checks);
  const { rule, key, cost = 1 } = checks[0];
  return limiter.check(rule, key, { cost });
}
