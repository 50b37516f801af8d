import type { Limit } from "../limit/limit.ts";
import type { Algorithm } from "./algorithm.ts";

/**
 * What token bucket, leaky bucket and GCRA have in common: a level that rises with each admitted
 * unit, drains at a constant rate, and may not pass the burst. They differ only in what they show.
 *
 * A row is [latest, used]: the time of the latest charge, and the units in use at that time.
 * `used` is a fraction, stored as the double nearest to `parts / unit`; multiplied by the unit and
 * rounded it gives back the very integer (up to 2^50), so no error builds up, and yet the row can
 * be read under another limit.
 */
const LATEST = 0;
const USED = 1;

/** A double this large has no fraction: adding it and taking it away rounds a number below 2^51 to the nearest integer. */
const INTEGER = 3 * 2 ** 51;
const ROUNDABLE = 2 ** 51;

type Meter = Omit<Algorithm, "name">;

export const meter: Meter = {
  blank: [Number.NEGATIVE_INFINITY, 0],

  evaluate(limit, cells, at, now, cost, out) {
    const { unit, drain, capacity } = limit;
    const latest = cells[at + LATEST];
    const time = now > latest ? now : latest;
    const before = levelAt(limit, cells, at, time);
    const after = before + cost * unit;
    const allowed = after <= capacity;
    const level = allowed ? after : before;
    out.allowed = allowed;
    out.remaining = level < capacity ? (capacity - level) / unit : 0;
    out.retryAfter = allowed ? 0 : time - now + untilFits(limit, before, cost);
    out.resetAfter = level > 0 ? time - now + Math.ceil(level / drain) : 0;
    out.time = time;
    out.level = after;
  },

  charge(limit, cells, at, _cost, out) {
    cells[at + LATEST] = out.time;
    cells[at + USED] = out.level * limit.perPart;
  },

  refund(limit, cells, at, now, cost) {
    const time = Math.max(now, cells[at + LATEST]);
    const level = levelAt(limit, cells, at, time) - cost * limit.unit;
    cells[at + LATEST] = time;
    cells[at + USED] = level > 0 ? level * limit.perPart : 0;
  },

  blankFrom(limit, cells, at) {
    const latest = cells[at + LATEST];
    return latest + Math.ceil(levelAt(limit, cells, at, latest) / limit.drain);
  },
};

/** The parts in use at a time that is not before the row's. */
function levelAt(limit: Limit, cells: Float64Array, at: number, time: number): number {
  const level = wholeParts(cells[at + USED] * limit.unit) - (time - cells[at + LATEST]) * limit.drain;
  return level > 0 ? level : 0;
}

/** Larger levels are those of limits whose unit is one part: they were stored as they are. */
function wholeParts(parts: number): number {
  return parts < ROUNDABLE ? parts + INTEGER - INTEGER : parts;
}

function untilFits(limit: Limit, before: number, cost: number): number {
  const wanted = cost * limit.unit;
  if (wanted > limit.capacity) return Number.POSITIVE_INFINITY;
  return Math.ceil((wanted - (limit.capacity - before)) / limit.drain);
}
