import { HeadgateError } from "headgate";

/** Converts a time for the tables. `field` is where it came from. */
export function millisecondsOf(field: string, time: string): number {
  const milliseconds = Date.parse(time);
  if (Number.isNaN(milliseconds)) {
    throw new HeadgateError("HG_BAD_OPTION", field, "must be a time such as 2026-01-31T12:00:00Z");
  }
  return milliseconds;
}
