import type { Answer } from "headgate";
import type { LimitResult, UsageState } from "./check.ts";
import type { PlannedLimit } from "./planned-limit.ts";
import type { Usage } from "./usage-states.ts";

/** The usage of a key after an answer at `now`, in microseconds. */
export function usageOf({ limit }: PlannedLimit, answer: Answer, now: number): Usage {
  return {
    used: (limit.burst - Math.floor(answer.remaining)) / limit.burst,
    refused: !answer.allowed && answer.retryAfter < Number.POSITIVE_INFINITY,
    fullAt: now + answer.resetAfter,
  };
}

export function limitResult({ definition, limit, from }: PlannedLimit, answer: Answer, state: UsageState): LimitResult {
  // A fraction of a unit cannot be used.
  const remaining = Math.floor(answer.remaining);
  return {
    rule_id: definition.rule_id,
    name: definition.name,
    mode: definition.mode,
    allowed: answer.allowed,
    limit: limit.limit,
    window_seconds: definition.window_seconds,
    burst: limit.burst,
    current_count: limit.burst - remaining,
    remaining,
    retry_after_ms: answer.retryAfter / 1000,
    reset_after_ms: answer.resetAfter / 1000,
    retry_at_ms: Math.ceil((answer.time + answer.retryAfter) / 1000),
    reset_at_ms: Math.ceil((answer.time + answer.resetAfter) / 1000),
    state,
    source: answer.source,
    degraded: answer.degraded,
    from,
  };
}

/** The limit that decided: of several denials the one with the longest wait, otherwise the one with the least left. */
export function decisiveOf(limits: readonly LimitResult[]): LimitResult | undefined {
  let decisive = limits[0];
  for (let i = 1; i < limits.length; i += 1) if (isTighter(limits[i], decisive)) decisive = limits[i];
  return decisive;
}

function isTighter(a: LimitResult, b: LimitResult): boolean {
  if (a.allowed !== b.allowed) return !a.allowed;
  return a.allowed ? a.remaining < b.remaining : a.retry_after_ms > b.retry_after_ms;
}
