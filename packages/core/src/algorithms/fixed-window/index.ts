import type { Limit } from "../../limits/limit.ts";
import type { Algorithm } from "../algorithm.ts";

/**
 * A row is [known, count]: a time in the window of the latest charge, and the units admitted in it. By the
 * clock that is the time of the charge, for another limit may have other windows; else the window's start.
 */
const KNOWN = 0;
const COUNT = 1;

export const fixedWindow: Algorithm = {
  name: "fixed_window",
  blank: [Number.NEGATIVE_INFINITY, 0],
  fields: ["window", "limit", "anchor"],

  evaluate(limit, cells, at, now, cost, out) {
    const known = cells[at + KNOWN];
    const time = now > known ? now : known;
    const start = windowAt(limit, known, time);
    const before = known >= start ? cells[at + COUNT] : 0;
    const after = before + cost;
    out.time = limit.anchor === "clock" ? time : start;
    out.level = after;
    out.allowed = after <= limit.limit;
    const count = out.allowed ? after : before;
    const left = start + limit.window - now;
    out.remaining = count < limit.limit ? limit.limit - count : 0;
    out.retryAfter = out.allowed ? 0 : cost > limit.limit ? Number.POSITIVE_INFINITY : left;
    out.resetAfter = count > 0 ? left : 0;
  },

  charge(_limit, cells, at, _cost, out) {
    cells[at + KNOWN] = out.time;
    cells[at + COUNT] = out.level;
  },

  refund(limit, cells, at, now, cost) {
    const known = cells[at + KNOWN];
    const count = cells[at + COUNT];
    if (known >= windowAt(limit, known, Math.max(now, known))) cells[at + COUNT] = count > cost ? count - cost : 0;
  },

  blankFrom(limit, cells, at) {
    const known = cells[at + KNOWN];
    return windowAt(limit, known, known) + limit.window;
  },
};

/** When the window that counts at `time` began; `time` is not before `known`. */
function windowAt(limit: Limit, known: number, time: number): number {
  if (limit.anchor === "clock") return Math.floor(time / limit.window) * limit.window;
  return time < known + limit.window ? known : time;
}
