import { HeadgateError, shown } from "../errors.ts";
import { requireOptions } from "../options.ts";
import type { CalendarUnit } from "./calendar.ts";
import { LONGEST_WINDOW, microseconds } from "./limit.ts";

const UNITS: readonly (readonly [microseconds: number, ...spellings: string[]])[] = [
  [1_000, "ms", "millisecond", "milliseconds"],
  [1_000_000, "s", "sec", "second", "seconds"],
  [60_000_000, "m", "min", "minute", "minutes"],
  [3_600_000_000, "h", "hr", "hour", "hours"],
  [86_400_000_000, "d", "day", "days"],
  [604_800_000_000, "w", "week", "weeks"],
];

const MICROSECONDS: ReadonlyMap<string, number> = new Map(
  UNITS.flatMap(([microseconds, ...spellings]) => spellings.map((unit) => [unit, microseconds] as const)),
);

/** The units that may follow the calendar. A month or a year has no other length. */
const CALENDARS: ReadonlyMap<string, CalendarUnit> = new Map([
  ...(["d", "day", "days"] as const).map((unit) => [unit, "day"] as const),
  ...(["w", "week", "weeks"] as const).map((unit) => [unit, "week"] as const),
  ...(["month", "months"] as const).map((unit) => [unit, "month"] as const),
  ...(["year", "years"] as const).map((unit) => [unit, "year"] as const),
]);

const RATE = /^\s*(\d+)\s*\/\s*(\d+(?:\.\d+)?)?\s*([a-z]+)\s*$/;

/**
 * A rate such as `"100/m"`, `"10/s"`, `"5/15m"`, `"1000/day"` or, for a fixed window, `"1000/month"`; or
 * `{ limit: 100, windowMs: 60_000 }`.
 */
export type Rate = string | { readonly limit: number; readonly windowMs: number };

const RATE_FIELDS: ReadonlySet<string> = new Set(["limit", "windowMs"]);

/** A rate as it was stated. The limit of numbers has not been checked. */
export interface ParsedRate {
  readonly limit: unknown;
  /** In microseconds; undefined if only the calendar says how long it is. */
  readonly window: number | undefined;
  /** The calendar that windows of this length may follow. */
  readonly calendar?: CalendarUnit | undefined;
}

export function parseRate(rate: unknown): ParsedRate {
  if (typeof rate === "object" && rate !== null && "limit" in rate && "windowMs" in rate) {
    requireOptions(rate, RATE_FIELDS, { code: "HG_BAD_RATE", at: "rate." });
    return { limit: rate.limit, window: microseconds(rate.windowMs, 1_000, "windowMs") };
  }
  const [, count, length = "1", unit = ""] = (typeof rate === "string" && RATE.exec(rate)) || [];
  const limit = Number(count);
  const calendar = CALENDARS.get(unit);
  const each = MICROSECONDS.get(unit);
  if (Number.isSafeInteger(limit) && limit >= 1) {
    if (each !== undefined) {
      const window = Math.round(Number(length) * each);
      const isWindow = window >= 1 && window <= LONGEST_WINDOW;
      if (isWindow) return { limit, window, calendar: Number(length) === 1 ? calendar : undefined };
    } else if (calendar !== undefined) {
      if (Number(length) === 1) return { limit, window: undefined, calendar };
      throw new HeadgateError(
        "HG_BAD_RATE",
        "rate",
        `must be per ${calendar}, not per several ${calendar}s, got ${shown(rate)}`,
      );
    }
  }
  throw new HeadgateError(
    "HG_BAD_RATE",
    "rate",
    `must be like "100/m", "10/s", "5/15m", "1000/d" (units ms, s, m, h, d, w, or sec, min, hour, day, week, and for fixed windows month, year) or { limit: 100, windowMs: 60000 }, got ${shown(rate)}`,
  );
}
