import type { RuleInput } from "./rule.ts";

/** A window of fixed length is stated unless the rule has a calendar or limits concurrent tasks. */
type WindowFields = Pick<RuleInput, "window_seconds" | "calendar" | "time_zone" | "anchor_day">;

/** Identifies the window of a rule: seconds, or the name of its calendar. Rules that share it may share a counter. */
export function windowOf({ window_seconds, calendar, time_zone, anchor_day }: WindowFields): number | string {
  if (calendar === null) return window_seconds ?? "slots";
  return `${calendar}${anchor_day === 1 ? "" : (anchor_day ?? "")}-${time_zone ?? "UTC"}`;
}

/** The window of a rule for people, as in `100 in 60 s` and `100 in a month (Europe/Berlin)`. */
export function windowText({ window_seconds, calendar, time_zone, anchor_day }: WindowFields): string {
  if (calendar === null) return window_seconds === null ? "use at a time" : `${window_seconds} s`;
  const from = anchor_day === null ? "" : ` from day ${anchor_day}`;
  return `a ${calendar}${from} (${time_zone ?? "UTC"})`;
}
