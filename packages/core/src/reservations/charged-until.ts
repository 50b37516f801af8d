import type { Limit } from "../limits/limit.ts";
import { windowEnd } from "../limits/window-end.ts";

/** From when on units that were taken at `time` count no more: given back later, they would be taken from another's use. */
export function chargedUntil(limit: Limit, time: number): number {
  const { burst, limit: units, window } = limit;
  // A burst over the limit takes as much longer to flow back.
  return burst > units ? time + Math.ceil((burst / units) * window) : windowEnd(limit, time);
}
