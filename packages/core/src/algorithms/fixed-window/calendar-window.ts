import type { Algorithm } from "../algorithm.ts";

/**
 * A row is [start, end, count]: the window of the latest charge, and the units admitted in it. Until that window ends,
 * it counts, also for a process whose time-zone data has other windows.
 */
const START = 0;
const END = 1;
const COUNT = 2;

/** Decides by windows of a calendar, whose lengths differ. */
export const calendarAlgorithm: Algorithm = {
  blank: [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, 0],
  luaFields: ["window", "limit"],

  evaluate({ limit, calendar }, cells, at, now, cost, out) {
    let start = cells[at + START];
    let end = cells[at + END];
    let before = cells[at + COUNT];
    if (calendar !== undefined && now >= end) {
      ({ start, end } = calendar.windowAt(now));
      before = 0;
    }
    const after = before + cost;
    out.time = start;
    out.carry = end;
    out.level = after;
    out.allowed = after <= limit;
    const count = out.allowed ? after : before;
    const left = end - now;
    out.remaining = count < limit ? limit - count : 0;
    out.retryAfter = out.allowed ? 0 : cost > limit ? Number.POSITIVE_INFINITY : left;
    out.resetAfter = count > 0 ? left : 0;
  },

  charge(_limit, cells, at, _cost, out) {
    cells[at + START] = out.time;
    cells[at + END] = out.carry;
    cells[at + COUNT] = out.level;
  },

  refund(_limit, cells, at, now, cost) {
    const count = cells[at + COUNT];
    if (now < cells[at + END]) cells[at + COUNT] = count > cost ? count - cost : 0;
  },

  blankFrom(_limit, cells, at) {
    return cells[at + END];
  },
};
