import { type Limit, makeLimit } from "../../limits/limit.ts";
import type { Rate } from "../../limits/rate.ts";
import type { AlgorithmDefinition } from "../algorithm.ts";
import { buildLimit, type NoFields } from "../stated-limit.ts";
import { compareProducts } from "./compare-products.ts";

const name = "sliding_window_counter";

/**
 * A row is [latest, previous, current]: the time of the latest charge, and the units of the previous and of its own
 * window.
 */
const LATEST = 0;
const PREVIOUS = 1;
const CURRENT = 2;

/**
 * The estimate is `previous × (window − elapsed) / window + current`, compared without dividing, so that it is exact at
 * every microsecond.
 */
export const definition: AlgorithmDefinition<typeof name, { alignedWindow: true }, NoFields> = {
  name,
  aliases: ["sliding_window"],
  fields: {},
  traits: { alignedWindow: true },
  build: slidingWindow,
  limitFrom: ({ limit, window, named }) => makeLimit({ algorithm: name, limit, window }, named),

  blank: [Number.NEGATIVE_INFINITY, 0, 0],
  luaFields: ["window", "limit"],

  evaluate(limit, cells, at, now, cost, out) {
    const { window } = limit;
    const latest = cells[at + LATEST];
    const time = now > latest ? now : latest;
    const start = windowStart(limit, time);
    const previous = previousAt(limit, cells, at, start);
    const before = currentAt(limit, cells, at, start);
    const after = before + cost;
    const left = start + window - time;
    out.time = time;
    out.level = after;
    out.carry = previous;
    out.allowed = fits(limit.limit - after, window, previous, left);
    const current = out.allowed ? after : before;
    out.remaining = remainingAt(limit, previous, current, left);
    out.retryAfter = out.allowed ? 0 : start + firstFit(limit, previous, before, cost) - now;
    out.resetAfter = current > 0 ? start + 2 * window - now : previous > 0 ? start + window - now : 0;
  },

  charge(_limit, cells, at, _cost, out) {
    cells[at + LATEST] = out.time;
    cells[at + PREVIOUS] = out.carry;
    cells[at + CURRENT] = out.level;
  },

  refund(limit, cells, at, now, cost) {
    const time = Math.max(now, cells[at + LATEST]);
    const start = windowStart(limit, time);
    const previous = previousAt(limit, cells, at, start);
    const current = currentAt(limit, cells, at, start);
    const fromCurrent = Math.min(cost, current);
    cells[at + LATEST] = time;
    cells[at + PREVIOUS] = Math.max(0, previous - (cost - fromCurrent));
    cells[at + CURRENT] = current - fromCurrent;
  },

  blankFrom(limit, cells, at) {
    return windowStart(limit, cells[at + LATEST]) + 2 * limit.window;
  },
};

/** A sliding window counter: estimates a sliding window from two counters. Small and smooth, but not exact. */
export function slidingWindow(rate: Rate, options: Record<string, never> = {}): Limit<typeof name> {
  return buildLimit(definition, rate, options);
}

function windowStart(limit: Limit, time: number): number {
  return Math.floor(time / limit.window) * limit.window;
}

function currentAt(limit: Limit, cells: Float64Array, at: number, start: number): number {
  return windowStart(limit, cells[at + LATEST]) === start ? cells[at + CURRENT] : 0;
}

function previousAt(limit: Limit, cells: Float64Array, at: number, start: number): number {
  const known = windowStart(limit, cells[at + LATEST]);
  if (known === start) return cells[at + PREVIOUS];
  return known === start - limit.window ? cells[at + CURRENT] : 0;
}

/** Whether `previous` units, fading over `left` of the window, leave room: previous × left ≤ room × window. */
function fits(room: number, window: number, previous: number, left: number): boolean {
  return room >= 0 && compareProducts(previous, left, room, window) <= 0;
}

/** What is left by the estimate. Its whole part is exactly the largest cost that fits. */
function remainingAt(limit: Limit, previous: number, current: number, left: number): number {
  const { window } = limit;
  const room = limit.limit - current;
  const remaining = room - (previous * left) / window;
  let whole = Math.max(0, Math.floor(remaining));
  while (whole > 0 && !fits(room - whole, window, previous, left)) whole -= 1;
  while (fits(room - whole - 1, window, previous, left)) whole += 1;
  return Math.max(whole, Math.min(remaining, justBelow(whole + 1)));
}

function justBelow(value: number): number {
  return value - value * Number.EPSILON;
}

/**
 * When a cost first fits without other requests, counted from the start of the current window: while the previous
 * window fades, or after the current one has become the previous.
 */
function firstFit(limit: Limit, previous: number, current: number, cost: number): number {
  const { window } = limit;
  const room = limit.limit - cost;
  if (room < 0) return Number.POSITIVE_INFINITY;
  if (room >= current) return fadedTo(room - current, previous, window);
  return window + fadedTo(room, current, window);
}

/** How far into a window `previous` has faded to `room`. */
function fadedTo(room: number, previous: number, window: number): number {
  let left = Math.min(window, Math.floor((room * window) / previous));
  while (left < window && fits(room, window, previous, left + 1)) left += 1;
  while (left > 0 && !fits(room, window, previous, left)) left -= 1;
  return window - left;
}
