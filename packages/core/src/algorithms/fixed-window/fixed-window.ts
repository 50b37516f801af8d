import type { Limit } from "../../limit/limit.ts";
import type { Algorithm } from "../algorithm.ts";

/** A row is [start, count]: when the window of the latest charge began, and the units admitted in it. */
const START = 0;
const COUNT = 1;

export const fixedWindow: Algorithm = {
  name: "fixed_window",
  blank: [Number.NEGATIVE_INFINITY, 0],

  evaluate(limit, cells, at, now, cost, out) {
    const start = windowAt(limit, cells, at, now);
    const before = countIn(start, cells, at);
    const after = before + cost;
    out.time = start;
    out.level = after;
    out.allowed = after <= limit.limit;
    const count = out.allowed ? after : before;
    const left = start + limit.window - now;
    out.remaining = count < limit.limit ? limit.limit - count : 0;
    out.retryAfter = out.allowed ? 0 : cost > limit.limit ? Number.POSITIVE_INFINITY : left;
    out.resetAfter = count > 0 ? left : 0;
  },

  charge(_limit, cells, at, _cost, out) {
    cells[at + START] = out.time;
    cells[at + COUNT] = out.level;
  },

  refund(limit, cells, at, now, cost) {
    const start = windowAt(limit, cells, at, now);
    const count = countIn(start, cells, at);
    if (count > 0) cells[at + COUNT] = count > cost ? count - cost : 0;
  },

  blankFrom(limit, cells, at) {
    return cells[at + START] + limit.window;
  },
};

/** When the window that counts at `now` began. A clock that ran back stays in the window it had reached. */
function windowAt(limit: Limit, cells: Float64Array, at: number, now: number): number {
  const known = cells[at + START];
  const time = now > known ? now : known;
  if (limit.anchor === "clock") return Math.floor(time / limit.window) * limit.window;
  return time < known + limit.window ? known : time;
}

function countIn(start: number, cells: Float64Array, at: number): number {
  return cells[at + START] >= start ? cells[at + COUNT] : 0;
}
