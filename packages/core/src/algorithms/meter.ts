import type { Limit } from "../limit/limit.ts";
import type { Algorithm } from "./algorithm.ts";

/**
 * What token bucket, leaky bucket and GCRA have in common: a level that rises with each admitted
 * unit, drains at a constant rate, and may not pass the burst. They differ only in what they show.
 *
 * A row is [latest, used]: the time of the latest charge, and the units in use at that time.
 * `used` is a fraction, stored as the double nearest to `parts / unit`; multiplied by the unit and
 * rounded it gives back the very integer (up to 2^51), so no error builds up, and yet the row can
 * be read under another limit.
 */
const LATEST = 0;
const USED = 1;

type Meter = Omit<Algorithm, "name">;

export const meter: Meter = {
  blank: [Number.NEGATIVE_INFINITY, 0],

  evaluate(limit, cells, at, now, cost, out) {
    const latest = cells[at + LATEST];
    const time = now > latest ? now : latest;
    const before = levelAt(limit, cells, at, time);
    const after = before + cost * limit.unit;
    const excess = after - limit.capacity;
    const lag = time - now;
    out.time = time;
    out.level = after;
    let level = before;
    if (excess <= 0) {
      level = after;
      out.allowed = true;
      out.retryAfter = 0;
    } else {
      out.allowed = false;
      out.retryAfter =
        cost * limit.unit > limit.capacity ? Number.POSITIVE_INFINITY : lag + Math.ceil(excess / limit.drain);
    }
    out.remaining = level < limit.capacity ? (limit.capacity - level) / limit.unit : 0;
    out.resetAfter = level > 0 ? lag + Math.ceil(level / limit.drain) : 0;
  },

  charge(limit, cells, at, _cost, out) {
    cells[at + LATEST] = out.time;
    cells[at + USED] = out.level / limit.unit;
  },

  refund(limit, cells, at, now, cost) {
    const time = Math.max(now, cells[at + LATEST]);
    const level = levelAt(limit, cells, at, time) - cost * limit.unit;
    cells[at + LATEST] = time;
    cells[at + USED] = level > 0 ? level / limit.unit : 0;
  },

  blankFrom(limit, cells, at) {
    return cells[at + LATEST] + Math.ceil(partsIn(limit, cells, at) / limit.drain);
  },
};

function partsIn(limit: Limit, cells: Float64Array, at: number): number {
  return Math.floor(cells[at + USED] * limit.unit + 0.5);
}

function levelAt(limit: Limit, cells: Float64Array, at: number, time: number): number {
  const level = partsIn(limit, cells, at) - (time - cells[at + LATEST]) * limit.drain;
  return level > 0 ? level : 0;
}
