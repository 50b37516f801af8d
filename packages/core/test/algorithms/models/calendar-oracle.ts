import type { CalendarUnit } from "../../../src/limits/calendar.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

const starts = new Map<string, number>();
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Finds windows without reasoning about offsets: tries every minute, and then every second of one, for the first that a
 * formatter dates on the day or later. Times are milliseconds.
 */
export function oracleWindow(
  unit: CalendarUnit,
  zone: string,
  anchorDay: number,
  time: number,
): readonly [start: number, end: number] {
  // Where clocks are set back over midnight, the formatter says the day before once more.
  let period = periodOf(unit, anchorDay, Date.parse(dateAt(zone, time)) + DAY);
  while (startOf(zone, period[0]) > time) period = periodOf(unit, anchorDay, period[0] - DAY);
  return [startOf(zone, period[0]), startOf(zone, period[1])];
}

/** The first days of the period that has a day and of the next one. Days are the times at which they start in UTC. */
function periodOf(unit: CalendarUnit, anchorDay: number, day: number): readonly [number, number] {
  let start = day;
  while (!isFirst(unit, anchorDay, start)) start -= DAY;
  let end = day + DAY;
  while (!isFirst(unit, anchorDay, end)) end += DAY;
  return [start, end];
}

function isFirst(unit: CalendarUnit, anchorDay: number, day: number): boolean {
  const date = new Date(day);
  if (unit === "day") return true;
  if (unit === "week") return date.getUTCDay() === 1;
  const ofMonth = date.getUTCDate();
  if (unit === "year") return ofMonth === 1 && date.getUTCMonth() === 0;
  const isLast = new Date(day + DAY).getUTCDate() === 1;
  return ofMonth === anchorDay || (isLast && ofMonth < anchorDay);
}

function startOf(zone: string, day: number): number {
  const name = `${zone} ${day}`;
  let start = starts.get(name);
  if (start === undefined) {
    const date = new Date(day).toISOString().slice(0, 10);
    start = day - 16 * 60 * MINUTE;
    while (dateAt(zone, start) < date) start += MINUTE;
    while (dateAt(zone, start - 1000) >= date) start -= 1000;
    starts.set(name, start);
  }
  return start;
}

/** As 2026-11-17. */
function dateAt(zone: string, time: number): string {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" });
    formats.set(zone, format);
  }
  return format.format(time);
}
