import type { Limit } from "../limits/limit.ts";
import type { Algorithm } from "./algorithm.ts";
import { coarseMeter } from "./coarse-meter.ts";
import type { Field } from "./stated-limit.ts";

/** Options of `tokenBucket`, `gcra` and `leakyBucket`. */
export interface BurstOptions {
  /** Units that can be used at once; for a leaky bucket, the length of its queue. Default: the limit. */
  readonly burst?: number | undefined;
}

export const burstField = {
  burst: { type: "units", about: "Units that can be used at once. Default: the limit" },
} as const satisfies Record<string, Field>;

/**
 * What token bucket, leaky bucket and GCRA have in common: a level that rises with each admitted unit, drains at a
 * constant rate, and may not exceed the burst. They differ only in what they report.
 *
 * A row is [latest, used]: the time of the latest charge, and the units in use at that time. `used` is a fraction,
 * stored as the double nearest to `parts / unit`. Multiplied by the unit and rounded, it is the exact integer again (up
 * to 2^50), so no error accumulates, and the row can still be read under another limit.
 *
 * This is the hottest code. It is short enough for V8 to inline it into its caller, which then often avoids allocating
 * the decision.
 */
const LATEST = 0;
const USED = 1;

/**
 * The meter for limits that are not coarse. `shown` converts the remaining units for reports: unchanged or rounded
 * down.
 */
export function meter(shown: (units: number) => number): Algorithm {
  const fine: Algorithm = {
    blank: [Number.NEGATIVE_INFINITY, 0],
    luaFields: ["window", "unit", "drain", "capacity"],

    evaluate(limit, cells, at, now, cost, out) {
      const { unit, drain, capacity } = limit;
      const latest = cells[at + LATEST];
      const time = now > latest ? now : latest;
      const left = nearestInteger(cells[at + USED] * unit) - (time - latest) * drain;
      const before = left > 0 ? left : 0;
      const after = before + cost * unit;
      const allowed = after <= capacity;
      const level = allowed ? after : before;
      out.time = time;
      out.level = after;
      out.allowed = allowed;
      out.remaining = level < capacity ? shown((capacity - level) / unit) : 0;
      out.retryAfter = allowed ? 0 : time - now + untilFits(limit, after, cost);
      out.resetAfter = level > 0 ? time - now + Math.ceil(level / drain) : 0;
    },

    charge(limit, cells, at, _cost, out) {
      cells[at + LATEST] = out.time;
      cells[at + USED] = out.level * limit.perPart;
    },

    refund(limit, cells, at, now, cost) {
      const latest = cells[at + LATEST];
      const time = Math.max(now, latest);
      const drained = (time - latest) * limit.drain;
      const level = nearestInteger(cells[at + USED] * limit.unit) - drained - cost * limit.unit;
      cells[at + LATEST] = time;
      cells[at + USED] = level > 0 ? level * limit.perPart : 0;
    },

    blankFrom(limit, cells, at) {
      return cells[at + LATEST] + Math.ceil(nearestInteger(cells[at + USED] * limit.unit) / limit.drain);
    },
  };
  return { ...fine, coarse: coarseMeter(fine, shown) };
}

function untilFits(limit: Limit, after: number, cost: number): number {
  if (cost * limit.unit > limit.capacity) return Number.POSITIVE_INFINITY;
  return Math.ceil((after - limit.capacity) / limit.drain);
}

/** A double as large as 3 × 2^51 has no fraction: adding and subtracting it rounds numbers below 2^51. */
function nearestInteger(value: number): number {
  return value + 6755399441055744 - 6755399441055744;
}
