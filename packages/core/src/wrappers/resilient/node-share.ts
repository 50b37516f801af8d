import { type Limit, LONGEST_WINDOW, makeLimit } from "../../limits/limit.ts";

/**
 * What each of `nodes` processes may pass so that together they keep a limit. A limit that has less than
 * one unit for each becomes one unit in a longer window: the rate stays, but they may pass one each at once.
 */
export function shareOf(limit: Limit, nodes: number): Limit {
  if (nodes === 1) return limit;
  const { algorithm, anchor, bucketWidth } = limit;
  const units = Math.max(1, part(limit.limit, nodes));
  const window =
    limit.limit < nodes ? Math.min(Math.ceil((limit.window / limit.limit) * nodes), LONGEST_WINDOW) : limit.window;
  // Rounding must not make a burst that takes longer to fill than any may.
  const most = Math.floor((LONGEST_WINDOW / window) * units);
  const burst = Math.max(1, Math.min(part(limit.burst, nodes), most));
  return makeLimit({ algorithm, limit: units, window, burst, anchor, bucketWidth });
}

/**
 * What is left of each process's share of a limit when `remaining` units are left of the limit: together no more than
 * those, unless the limit has less than one unit for each process.
 */
export function leftOfShare(limit: Limit, remaining: number, nodes: number): number {
  return limit.burst < nodes ? Math.min(1, remaining) : part(remaining, nodes);
}

/** ⌊units / nodes⌋: of large numbers a plain quotient would be rounded, and may be one too many. */
function part(units: number, nodes: number): number {
  return (units - (units % nodes)) / nodes;
}

/**
 * What a decision must say remains of a limit, so that a queue tells the right delay: with `remaining` of
 * its share left, this process's queue is as far behind as a whole queue with this much left would be.
 */
export function queueRoom(limit: Limit, share: Limit, remaining: number): number {
  const slower = ((limit.drain / limit.unit) * share.unit) / share.drain;
  return Math.max(0, limit.burst - (share.burst - remaining) * slower);
}
