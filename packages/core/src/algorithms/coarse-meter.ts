import type { Limit } from "../limits/limit.ts";
import type { Algorithm } from "./algorithm.ts";

/**
 * The meter for limits with too many parts to count exactly (over 2^50, for example 100 TB a month in bytes). Their
 * parts are coarser and drain by fractions, so the drained amount is truncated to whole parts, and waits are computed
 * from the latest charge: only then are they the same at every moment in between.
 */
const LATEST = 0;
const USED = 1;

/** Like `meter`, whose rows it shares, because a limit may become coarse or fine again. */
export function coarseMeter(fine: Algorithm, shown: (units: number) => number): Algorithm {
  return {
    ...fine,

    evaluate(limit, cells, at, now, cost, out) {
      const { unit, drain, capacity } = limit;
      const latest = cells[at + LATEST];
      const time = Math.max(now, latest);
      const used = partsIn(limit, cells, at);
      const before = Math.max(0, used - Math.floor((time - latest) * drain));
      const wanted = cost * unit;
      const after = before + wanted;
      const allowed = after <= capacity;
      const level = allowed ? after : before;
      out.time = time;
      out.level = after;
      out.allowed = allowed;
      out.remaining = level < capacity ? shown((capacity - level) / unit) : 0;
      out.retryAfter = 0;
      out.resetAfter = 0;
      if (!allowed) {
        out.retryAfter =
          wanted > capacity ? Number.POSITIVE_INFINITY : latest + untilDrained(drain, used - (capacity - wanted)) - now;
      }
      if (level > 0) {
        const isCharged = allowed && cost > 0;
        out.resetAfter = (isCharged ? time + untilDrained(drain, after) : latest + untilDrained(drain, used)) - now;
      }
    },

    refund(limit, cells, at, now, cost) {
      const latest = cells[at + LATEST];
      const time = Math.max(now, latest);
      const level = partsIn(limit, cells, at) - Math.floor((time - latest) * limit.drain) - cost * limit.unit;
      cells[at + LATEST] = time;
      cells[at + USED] = level > 0 ? level * limit.perPart : 0;
    },

    blankFrom(limit, cells, at) {
      return cells[at + LATEST] + untilDrained(limit.drain, partsIn(limit, cells, at));
    },
  };
}

function partsIn(limit: Limit, cells: Float64Array, at: number): number {
  return Math.round(cells[at + USED] * limit.unit);
}

/**
 * The first microsecond at which this many parts have drained. The quotient may be off by one if `drain` is a fraction.
 */
function untilDrained(drain: number, parts: number): number {
  const time = Math.ceil(parts / drain);
  if ((time - 1) * drain >= parts) return time - 1;
  return time * drain >= parts ? time : time + 1;
}
