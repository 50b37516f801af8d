import { type Limit, LONGEST_WINDOW, makeLimit } from "../../limits/limit.ts";

/** A place among the replicas that share a limit: `rank` counts from 0. */
export interface Place {
  readonly rank: number;
  readonly of: number;
}

/**
 * What a replica at this place enforces. The shares of all places sum to the limit, and to the burst, exactly.
 * Where there are fewer units than replicas, the last ones get none, and let nothing pass.
 */
export function shareOf(limit: Limit, place: Place): Limit {
  if (place.of === 1) return limit;
  const { algorithm, anchor, bucketWidth } = limit;
  const units = unitsAt(place, Math.floor(limit.limit));
  const burst = unitsAt(place, Math.floor(limit.burst));
  const window = wholeWindow(limit);
  const share = makeLimit({
    algorithm,
    limit: Math.max(1, units),
    window,
    burst: Math.max(1, Math.min(burst, Math.floor((units * LONGEST_WINDOW) / window))),
    anchor,
    bucketWidth,
  });
  // Of what was used before, one unit goes each window: so little that a share that comes back finds it.
  return units > 0 && burst > 0 ? share : Object.freeze({ ...share, limit: 0, burst: 0, capacity: 0 });
}

/** How many of so many units have this rank, if they are dealt out one by one. */
function unitsAt({ rank, of }: Place, units: number): number {
  const left = units % of;
  return (units - left) / of + (rank < left ? 1 : 0);
}

/** The window of the whole units: a capacity such as 5.5 has a part of one, and it would take its rate with it. */
function wholeWindow({ limit, window, unit, drain }: Limit): number {
  return Number.isInteger(limit) ? window : Math.max(1, Math.ceil((Math.floor(limit) * unit) / drain));
}
