import type { Limit } from "../limits/limit.ts";
import { windowEnd } from "../limits/window-end.ts";

/** When units taken at `time` no longer count. Refunded later, they would be deducted from someone else's use. */
export function chargedUntil(limit: Limit, time: number): number {
  const { burst, limit: units, window } = limit;
  // A burst above the limit takes proportionally longer to refill.
  return burst > units ? time + Math.ceil((burst / units) * window) : windowEnd(limit, time);
}
