import type { Decision } from "headgate";

/** The numbers of a decision as clients see them: whole units, and times rounded up. A wait of -1 never ends. */
export interface DecisionFigures {
  readonly current_count: number;
  readonly limit: number;
  readonly remaining: number;
  readonly reset_at: number;
  readonly retry_after: number;
  readonly reset_at_ms: number;
  readonly retry_after_ms: number;
  /** Of requests that a queue has admitted: the units in it, and how long to delay the request. */
  readonly queue_position?: number;
  readonly delay_ms?: number;
}

export function figuresOf(decision: Decision): DecisionFigures {
  const { limit, burst, remaining: left, resetAtMs, retryAfterMs, queuePosition, delayMs } = decision;
  // A fraction of a unit cannot be used.
  const remaining = Math.floor(left);
  const isEndless = retryAfterMs === Number.POSITIVE_INFINITY;
  const wait = Math.ceil(retryAfterMs);
  return {
    current_count: burst - remaining,
    limit,
    remaining,
    reset_at: Math.ceil(resetAtMs / 1000),
    retry_after: isEndless ? -1 : Math.ceil(wait / 1000),
    reset_at_ms: resetAtMs,
    retry_after_ms: isEndless ? -1 : wait,
    ...(queuePosition > 0 && { queue_position: Math.ceil(queuePosition), delay_ms: Math.ceil(delayMs) }),
  };
}
