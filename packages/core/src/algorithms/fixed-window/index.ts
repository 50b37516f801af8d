import { CALENDAR_UNITS } from "../../limits/calendar.ts";
import { ANCHORS, type Anchor, type Limit, makeLimit } from "../../limits/limit.ts";
import type { Rate } from "../../limits/rate.ts";
import type { AlgorithmDefinition } from "../algorithm.ts";
import { buildLimit, type Fields } from "../stated-limit.ts";
import { calendarAlgorithm } from "./calendar-window.ts";
import { statedCalendar } from "./stated-calendar.ts";

const name = "fixed_window";

const fields = {
  anchor: {
    type: ANCHORS,
    about: "Whether windows start at multiples of their length or at the first request. Default: clock",
  },
  calendar: {
    type: CALENDAR_UNITS,
    about: "Windows that follow the local calendar, instead of a window of fixed length. Weeks start on Monday",
    replacesWindow: true,
  },
  time_zone: {
    type: "text",
    about: "The IANA time zone of the calendar, such as Europe/Berlin. Default: UTC",
  },
  anchor_day: {
    type: "day",
    about: "The day on which months of the calendar start, or the last day of a shorter month. Default: 1",
  },
} as const satisfies Fields;

/** Options of `fixedWindow`. */
export interface FixedWindowOptions {
  /**
   * `"clock"` (default) starts windows at multiples of their length since the epoch, in UTC; `"request"` starts a
   * window with the first admitted request.
   */
  readonly anchor?: Anchor | undefined;
  /**
   * The IANA time zone, such as `"Europe/Berlin"`, whose days, weeks, months or years are the windows. Without it,
   * months and years follow UTC, and `/d` and `/w` are windows of a fixed length.
   */
  readonly timeZone?: string | undefined;
  /** The day on which months start, from 1 to 31; in shorter months, the last day. Default 1. */
  readonly anchorDay?: number | undefined;
}

/**
 * A row is [known, count]: a time in the window of the latest charge, and the units admitted in it. With the anchor
 * "clock", that is the time of the charge, because another limit may have other windows; otherwise the window's start.
 */
const KNOWN = 0;
const COUNT = 1;

export const definition: AlgorithmDefinition<typeof name, { leasable: true; alignedWindow: true }, typeof fields> = {
  name,
  fields,
  traits: { leasable: true, alignedWindow: true },
  build: fixedWindow,
  limitFrom: (stated) => {
    const { limit, window, value, named } = stated;
    const calendar = statedCalendar(stated);
    return makeLimit({ algorithm: name, limit, window, anchor: value("anchor"), calendar }, named);
  },
  calendar: calendarAlgorithm,

  blank: [Number.NEGATIVE_INFINITY, 0],
  luaFields: ["window", "limit", "anchor"],

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

/**
 * A fixed window: counts units in consecutive windows. Cheap, but admits up to twice the limit around a window
 * boundary. Rates per `month` and `year` follow the calendar, as rates per `d` and `w` do with a time zone.
 */
export function fixedWindow(rate: Rate, options: FixedWindowOptions = {}): Limit<typeof name> {
  return buildLimit(definition, rate, options);
}

/** Start of the window that counts at `time`, which is not before `known`. */
function windowAt(limit: Limit, known: number, time: number): number {
  if (limit.anchor === "clock") return Math.floor(time / limit.window) * limit.window;
  return time < known + limit.window ? known : time;
}
