import { HeadgateError, shown } from "../errors.ts";
import { requireOptions } from "../options.ts";
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

const RATE = /^\s*(\d+)\s*\/\s*(\d+(?:\.\d+)?)?\s*([a-z]+)\s*$/;

/** A rate such as `"100/m"`, `"10/s"`, `"5/15m"` or `"1000/day"`, or `{ limit: 100, windowMs: 60_000 }`. */
export type Rate = string | { readonly limit: number; readonly windowMs: number };

const RATE_FIELDS: ReadonlySet<string> = new Set(["limit", "windowMs"]);

/** The units of a rate, and its window in microseconds. */
export function parseRate(rate: unknown): { limit: unknown; window: number } {
  if (typeof rate === "object" && rate !== null && "limit" in rate && "windowMs" in rate) {
    requireOptions(rate, RATE_FIELDS, { code: "HG_BAD_RATE", at: "rate." });
    return { limit: rate.limit, window: microseconds(rate.windowMs, 1_000, "windowMs") };
  }
  const [, count, length = "1", unit = ""] = (typeof rate === "string" && RATE.exec(rate)) || [];
  const limit = Number(count);
  const window = Math.round(Number(length) * (MICROSECONDS.get(unit) ?? 0));
  if (Number.isSafeInteger(limit) && limit >= 1 && window >= 1 && window <= LONGEST_WINDOW) return { limit, window };
  throw new HeadgateError(
    "HG_BAD_RATE",
    "rate",
    `must be like "100/m", "10/s", "5/15m", "1000/d" (units ms, s, m, h, d, w, or sec, min, hour, day, week) or { limit: 100, windowMs: 60000 }, got ${shown(rate)}`,
  );
}
