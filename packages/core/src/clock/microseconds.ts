import { HeadgateError, shown } from "../errors.ts";

/**
 * Times are whole microseconds since the epoch. A double represents them exactly until the year 2255, so arithmetic on
 * them is integer arithmetic.
 */
const MICROSECONDS_PER_SECOND = 1_000_000;

/** Converts seconds since the epoch to microseconds, rounded to the nearest one. */
export function timeFromSeconds(seconds: unknown, field = "time"): number {
  const time = typeof seconds === "number" ? Math.round(seconds * MICROSECONDS_PER_SECOND) : Number.NaN;
  if (!Number.isSafeInteger(time)) {
    throw new HeadgateError(
      "HG_BAD_TIME",
      field,
      `must be a number of seconds within 9007199254 of the epoch, got ${shown(seconds)}`,
    );
  }
  return time;
}
