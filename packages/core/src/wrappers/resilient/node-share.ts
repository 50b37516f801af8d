import { traitsOf } from "../../algorithms/lookup.ts";
import { type Limit, LONGEST_WINDOW, makeLimit, withSlots } from "../../limits/limit.ts";

/**
 * The share of each of `nodes` processes that together enforce a limit. A share of less than one unit becomes one unit
 * in a longer window, which follows no calendar: the rate stays the same, but every process may admit one unit at the
 * same time. Slots have no window, so a process may have none.
 */
export function shareOf(limit: Limit, nodes: number): Limit {
  if (nodes === 1) return limit;
  if (traitsOf(limit).releasable) return withSlots(limit, part(limit.limit, nodes));
  const { algorithm, anchor, bucketWidth } = limit;
  const units = Math.max(1, part(limit.limit, nodes));
  const isLonger = limit.limit < nodes;
  const window = isLonger ? Math.min(Math.ceil((limit.window / limit.limit) * nodes), LONGEST_WINDOW) : limit.window;
  const calendar = isLonger ? undefined : limit.calendar;
  // Rounding must not produce a burst that takes longer to fill than the longest window.
  const most = Math.floor((LONGEST_WINDOW / window) * units);
  const burst = Math.max(1, Math.min(part(limit.burst, nodes), most));
  return makeLimit({ algorithm, limit: units, window, burst, anchor, calendar, bucketWidth });
}

/**
 * What is left of each process's share when `remaining` units are left of the limit. The shares add up to no more than
 * `remaining`, unless the limit has less than one unit per process.
 */
export function leftOfShare(limit: Limit, remaining: number, nodes: number): number {
  return limit.burst < nodes ? Math.min(1, remaining) : part(remaining, nodes);
}

/** ⌊units / nodes⌋. For large numbers, the plain quotient could be rounded up. */
function part(units: number, nodes: number): number {
  return (units - (units % nodes)) / nodes;
}

/**
 * The remaining units to report for a queue, so that the delay computed from them is right: with `remaining` of its
 * share left, this process's queue is as long as a whole queue with this many units left.
 */
export function queueRoom(limit: Limit, share: Limit, remaining: number): number {
  const slower = ((limit.drain / limit.unit) * share.unit) / share.drain;
  return Math.max(0, limit.burst - (share.burst - remaining) * slower);
}
