import { HeadgateError, shown } from "../../errors.ts";
import { CALENDAR_UNITS, type Calendar, type CalendarUnit, calendarOf } from "../../limits/calendar.ts";
import type { StatedLimit } from "../stated-limit.ts";

/** The calendar of a limit, if its windows follow one. */
export function statedCalendar(stated: StatedLimit): Calendar | undefined {
  const unit = statedUnit(stated);
  if (unit === undefined) {
    requireAbsent(stated, "time_zone", "requires a calendar: windows of one day, week, month or year");
    requireAbsent(stated, "anchor_day", "requires a calendar: windows of one month");
    return undefined;
  }
  if (unit !== "month") requireAbsent(stated, "anchor_day", `applies to windows of one month, not of one ${unit}`);
  return inZone(stated, unit, anchorDay(stated));
}

function statedUnit({ rateCalendar, window, value, has, named }: StatedLimit): CalendarUnit | undefined {
  // In a rate, days and weeks have a fixed length unless there is a time zone.
  if (rateCalendar !== undefined) return window === undefined || has("time_zone") ? rateCalendar : undefined;
  if (!has("calendar")) return undefined;
  const unit = CALENDAR_UNITS.find((each) => each === value("calendar"));
  if (unit === undefined) {
    const problem = `must be one of ${CALENDAR_UNITS.join(", ")}, got ${shown(value("calendar"))}`;
    throw new HeadgateError("HG_BAD_LIMIT", named("calendar"), problem);
  }
  if (window !== undefined) {
    throw new HeadgateError("HG_BAD_LIMIT", named("window"), "cannot be combined with a calendar: remove one of them");
  }
  return unit;
}

function inZone({ value, has, named }: StatedLimit, unit: CalendarUnit, day: number): Calendar {
  const zone = has("time_zone") ? value("time_zone") : "UTC";
  try {
    if (typeof zone === "string") return calendarOf(unit, zone, day);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new HeadgateError(
    "HG_BAD_LIMIT",
    named("time_zone"),
    `must be an IANA time zone such as "Europe/Berlin" or "UTC", got ${shown(zone)}`,
  );
}

function anchorDay({ value, has, named }: StatedLimit): number {
  const day = has("anchor_day") ? value("anchor_day") : 1;
  if (typeof day === "number" && Number.isInteger(day) && day >= 1 && day <= 31) return day;
  throw new HeadgateError(
    "HG_BAD_LIMIT",
    named("anchor_day"),
    `must be a day of the month from 1 to 31, got ${shown(day)}; months without it start on their last day`,
  );
}

function requireAbsent({ has, named }: StatedLimit, field: string, problem: string): void {
  if (has(field)) throw new HeadgateError("HG_BAD_LIMIT", named(field), problem);
}
