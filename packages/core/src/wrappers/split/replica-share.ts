import { type Limit, LONGEST_WINDOW, makeLimit } from "../../limits/limit.ts";

/** A place among the replicas that share a limit. `rank` counts from 0. */
export interface Place {
  readonly rank: number;
  readonly of: number;
}

/**
 * What a replica at this place enforces. The shares of all places add up to exactly the limit and the burst. If there
 * are fewer units than replicas, the last ones get none and admit nothing.
 */
export function shareOf(limit: Limit, place: Place): Limit {
  if (place.of === 1) return limit;
  const { algorithm, anchor, calendar, bucketWidth } = limit;
  const units = unitsAt(place, Math.floor(limit.limit));
  const burst = unitsAt(place, Math.floor(limit.burst));
  const window = wholeWindow(limit);
  const share = makeLimit({
    algorithm,
    limit: Math.max(1, units),
    window,
    burst: Math.max(1, Math.min(burst, Math.floor((units * LONGEST_WINDOW) / window))),
    anchor,
    calendar,
    bucketWidth,
  });
  // An empty share still drains one unit per window, so slowly that earlier use is still known if the share returns.
  return units > 0 && burst > 0 ? share : Object.freeze({ ...share, limit: 0, burst: 0, capacity: 0 });
}

/** How many units this rank gets if they are dealt out one by one. */
function unitsAt({ rank, of }: Place, units: number): number {
  const left = units % of;
  return (units - left) / of + (rank < left ? 1 : 0);
}

/** The window for the whole units: with a capacity of 5.5, the fractional unit would take its rate along. */
function wholeWindow({ limit, window, unit, drain }: Limit): number {
  return Number.isInteger(limit) ? window : Math.max(1, Math.ceil((Math.floor(limit) * unit) / drain));
}
