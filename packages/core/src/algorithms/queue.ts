import type { Limit } from "../limits/limit.ts";
import type { Algorithm, Outcome, Resize } from "./algorithm.ts";

/**
 * What the sliding log and the bucketed window have in common: a queue of marks, each the start of a bucket with the
 * units admitted in it. A log is a queue with buckets of one microsecond.
 *
 * A row is [capacity, latest, base, head, length] followed by a ring of `capacity` pairs (mark, total). `total` counts
 * all units up to and including the mark, and `base` those before the head. The sum over any range is one subtraction,
 * and both of its ends are found by bisection, so a denial costs O(log n) and changes nothing.
 */
const CAPACITY = 0;
const LATEST = 1;
const BASE = 2;
const HEAD = 3;
const LENGTH = 4;
const RING = 5;

const FIRST_CAPACITY = 2;

/** Totals start over before they exceed the exact integers. */
const LARGEST_TOTAL = Number.MAX_SAFE_INTEGER;

export const queue: Algorithm & { readonly resize: Resize } = {
  blank: [FIRST_CAPACITY, Number.NEGATIVE_INFINITY, 0, 0, 0, ...new Array<number>(2 * FIRST_CAPACITY).fill(0)],
  luaFields: ["window", "limit", "bucketWidth"],

  evaluate(limit, cells, at, now, cost, out) {
    const { window } = limit;
    const latest = cells[at + LATEST];
    const time = now > latest ? now : latest;
    const length = cells[at + LENGTH];
    const expired = expiredAt(limit, cells, at, time);
    const gone = totalBefore(cells, at, expired);
    const total = totalBefore(cells, at, length);
    const before = total - gone;
    const after = before + cost;
    out.time = time;
    out.level = after;
    out.carry = expired;
    out.allowed = after <= limit.limit;
    const used = out.allowed ? after : before;
    out.remaining = used < limit.limit ? limit.limit - used : 0;
    out.retryAfter = 0;
    if (!out.allowed) {
      out.retryAfter = Number.POSITIVE_INFINITY;
      if (cost <= limit.limit) {
        const leaving = firstReaching(cells, at, expired, gone + before - (limit.limit - cost));
        out.retryAfter = markAt(cells, at, leaving) + window - now;
      }
    }
    out.resetAfter = 0;
    if (out.allowed && cost > 0) out.resetAfter = markFor(limit, cells, at, time) + window - now;
    else if (used > 0) out.resetAfter = markAt(cells, at, length - 1) + window - now;
  },

  charge(limit, cells, at, _cost, out) {
    dropExpired(cells, at, out);
    if (cells[at + BASE] + out.level > LARGEST_TOTAL) startTotalsOver(cells, at);
    const mark = markFor(limit, cells, at, out.time);
    const length = cells[at + LENGTH];
    const last = length - 1;
    // Only penalties meet a full ring. They join the newest bucket, which is never too lenient.
    const joins = length > 0 && (markAt(cells, at, last) === mark || length === cells[at + CAPACITY]);
    writePair(cells, at, joins ? last : length, mark, cells[at + BASE] + out.level);
    if (!joins) cells[at + LENGTH] = length + 1;
    cells[at + LATEST] = out.time;
  },

  refund(limit, cells, at, now, cost) {
    const expired = expiredAt(limit, cells, at, Math.max(now, cells[at + LATEST]));
    let length = cells[at + LENGTH];
    const left = Math.max(totalBefore(cells, at, expired), totalBefore(cells, at, length) - cost);
    while (length > 0 && totalBefore(cells, at, length - 1) >= left) length -= 1;
    cells[at + LENGTH] = length;
    if (length > 0) writePair(cells, at, length - 1, markAt(cells, at, length - 1), left);
  },

  blankFrom(limit, cells, at) {
    const latest = cells[at + LATEST];
    const length = cells[at + LENGTH];
    // A refund may have removed the marks of the latest charge.
    return length === 0 ? latest : Math.max(latest, markAt(cells, at, length - 1) + limit.window);
  },

  resize: {
    lengthToCharge(limit, cells, at, out) {
      const capacity = cells[at + CAPACITY];
      const live = cells[at + LENGTH] - out.carry;
      if (live < capacity || (!out.allowed && capacity >= mostMarks(limit))) return 0;
      return RING + 2 * (2 * capacity);
    },

    copy(from, fromAt, to, toAt, length) {
      to[toAt + CAPACITY] = (length - RING) / 2;
      to[toAt + LATEST] = from[fromAt + LATEST];
      to[toAt + BASE] = from[fromAt + BASE];
      to[toAt + HEAD] = 0;
      to[toAt + LENGTH] = from[fromAt + LENGTH];
      for (let i = 0; i < from[fromAt + LENGTH]; i += 1) {
        writePair(to, toAt, i, markAt(from, fromAt, i), totalBefore(from, fromAt, i + 1));
      }
    },
  },
};

/** The maximum number of marks that one limit needs within a window; penalties get no more. */
function mostMarks(limit: Limit): number {
  return Math.min(limit.limit, Math.ceil(limit.window / limit.bucketWidth) + 1);
}

function bucketOf(limit: Limit, time: number): number {
  return Math.floor(time / limit.bucketWidth) * limit.bucketWidth;
}

/** The mark of a charge now. Marks never decrease, even if buckets were finer before the limit was changed. */
function markFor(limit: Limit, cells: Float64Array, at: number, time: number): number {
  const bucket = bucketOf(limit, time);
  const length = cells[at + LENGTH];
  return length === 0 ? bucket : Math.max(bucket, markAt(cells, at, length - 1));
}

/** Position of the i-th pair; capacities are powers of two. */
function pairAt(cells: Float64Array, at: number, i: number): number {
  return at + RING + 2 * ((cells[at + HEAD] + i) & (cells[at + CAPACITY] - 1));
}

function markAt(cells: Float64Array, at: number, i: number): number {
  return cells[pairAt(cells, at, i)];
}

function writePair(cells: Float64Array, at: number, i: number, mark: number, total: number): void {
  const pair = pairAt(cells, at, i);
  cells[pair] = mark;
  cells[pair + 1] = total;
}

/** The units of the first `i` marks and of all that were dropped before them. */
function totalBefore(cells: Float64Array, at: number, i: number): number {
  return i === 0 ? cells[at + BASE] : cells[pairAt(cells, at, i - 1) + 1];
}

/** Number of marks that have left the window: a bucket does when the start of the window reaches it. */
function expiredAt(limit: Limit, cells: Float64Array, at: number, time: number): number {
  const edge = time - limit.window;
  let low = 0;
  let high = cells[at + LENGTH];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (markAt(cells, at, middle) <= edge) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first mark, from `from` on, whose total reaches `total`. */
function firstReaching(cells: Float64Array, at: number, from: number, total: number): number {
  let low = from;
  let high = cells[at + LENGTH] - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (totalBefore(cells, at, middle + 1) < total) low = middle + 1;
    else high = middle;
  }
  return low;
}

function dropExpired(cells: Float64Array, at: number, out: Outcome): void {
  const expired = out.carry;
  if (expired === 0) return;
  cells[at + BASE] = totalBefore(cells, at, expired);
  cells[at + HEAD] = (cells[at + HEAD] + expired) & (cells[at + CAPACITY] - 1);
  cells[at + LENGTH] -= expired;
}

function startTotalsOver(cells: Float64Array, at: number): void {
  const base = cells[at + BASE];
  for (let i = 0; i < cells[at + LENGTH]; i += 1) {
    writePair(cells, at, i, markAt(cells, at, i), totalBefore(cells, at, i + 1) - base);
  }
  cells[at + BASE] = 0;
}
