import type { Decision } from "../limiter/decision.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { MaybePromise } from "../limiter/maybe-promise.ts";
import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { Check } from "../limiter/requests.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import type { Verdict } from "../limiter/verdict.ts";

/** Takes the quota for a request, without a promise where possible. */
export function take<R extends Rules>(
  limiter: Limiter<R>,
  checks: readonly Check<RuleName<R>>[],
): MaybePromise<Decision | Verdict> {
  const [{ rule, key, cost = 1 }] = checks;
  if (isSync(limiter)) {
    return checks.length > 1 ? limiter.checkAllSync(checks) : limiter.checkSync(rule, key, { cost });
  }
  return checks.length > 1 ? limiter.checkAll(checks) : limiter.check(rule, key, { cost });
}

function isSync<R extends Rules>(limiter: Limiter<R>): limiter is MemoryLimiter<R> {
  return "checkSync" in limiter;
}
