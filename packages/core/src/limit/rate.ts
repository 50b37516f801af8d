import { HeadgateError, shown } from "../errors.ts";
import { microseconds } from "./limit.ts";

const UNITS: ReadonlyMap<string, number> = new Map([
  ["ms", 1_000],
  ["s", 1_000_000],
  ["m", 60_000_000],
  ["h", 3_600_000_000],
  ["d", 86_400_000_000],
  ["w", 604_800_000_000],
]);

const RATE = /^\s*(\d+)\s*\/\s*(\d+(?:\.\d+)?)?\s*(ms|s|m|h|d|w)\s*$/;

/** `"100/m"`, `"5/15m"`, or the same as numbers. */
export type Rate = string | { readonly limit: number; readonly windowMs: number };

/** The units of a rate, and its window in microseconds. */
export function parseRate(rate: unknown): { limit: unknown; window: number } {
  if (typeof rate === "string") {
    const match = RATE.exec(rate);
    if (match !== null) {
      const [, count, length = "1", unit = ""] = match;
      return { limit: Number(count), window: microseconds(Number(length), UNITS.get(unit) ?? 0, "rate") };
    }
  } else if (typeof rate === "object" && rate !== null && "limit" in rate && "windowMs" in rate) {
    return { limit: rate.limit, window: microseconds(rate.windowMs, 1_000, "windowMs") };
  }
  throw new HeadgateError(
    "HG_BAD_RATE",
    "rate",
    `must be like "100/m", "10/s", "5/15m", "1000/d" (units ms, s, m, h, d, w) or { limit: 100, windowMs: 60000 }, got ${shown(rate)}`,
  );
}
