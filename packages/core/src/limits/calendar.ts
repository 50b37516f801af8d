import { startOfDay, TimeZone } from "./time-zone.ts";

export const CALENDAR_UNITS = ["day", "week", "month", "year"] as const;

/** The length of a window that follows the calendar. Weeks start on Monday. */
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

/** A window from `start` up to, but not including, `end`; microseconds since the epoch. */
export interface CalendarWindow {
  readonly start: number;
  readonly end: number;
}

/** How many windows around the present one the client sends to a store whose clock decides: one on either side. */
export type WindowBoundaries = readonly [number, number, number, number];

const DAY_US = 86_400_000_000;

/**
 * No window is longer, in days. Clock changes make days longer by hours, and by up to a day where a zone has moved
 * across the date line.
 */
const LONGEST_DAYS: Readonly<Record<CalendarUnit, number>> = { day: 2, week: 8, month: 32, year: 367 };

/**
 * Windows that follow the local calendar of a time zone. Create one with `calendarOf`: there is one object for each
 * combination, so that calendars can be compared by identity.
 */
export class Calendar {
  readonly unit: CalendarUnit;
  /** The IANA name of the time zone, as it was given. */
  readonly timeZone: string;
  /** The day on which months start; in months without that day, the last one. Otherwise 1. */
  readonly anchorDay: number;
  /** No window is longer than this, in microseconds. */
  readonly longest: number;
  /** Names the calendar in keys of stores. */
  readonly id: string;
  readonly #zone: TimeZone;
  // Almost all calls are for the present window.
  #window: CalendarWindow = { start: 0, end: 0 };
  #around: { readonly window: CalendarWindow; readonly boundaries: WindowBoundaries } | undefined;

  constructor(unit: CalendarUnit, zone: TimeZone, anchorDay: number) {
    this.unit = unit;
    this.timeZone = zone.name;
    this.anchorDay = anchorDay;
    this.longest = LONGEST_DAYS[unit] * DAY_US;
    this.id = `${unit}${anchorDay === 1 ? "" : anchorDay}-${zone.name}`;
    this.#zone = zone;
  }

  /** The window that a time is in. */
  windowAt(time: number): CalendarWindow {
    const known = this.#window;
    if (time >= known.start && time < known.end) return known;
    this.#window = this.#find(time);
    return this.#window;
  }

  /** The boundaries of the window that a time is in, and of those before and after it. */
  boundariesAround(time: number): WindowBoundaries {
    const window = this.windowAt(time);
    if (this.#around?.window !== window) {
      const { start, end } = window;
      const boundaries = [this.#find(start - 1).start, start, end, this.#find(end).end] as const;
      this.#around = { window, boundaries };
    }
    return this.#around.boundaries;
  }

  /** As in `100 per month in Europe/Berlin`. */
  toString(): string {
    const from = this.anchorDay === 1 ? "" : ` from day ${this.anchorDay}`;
    return `${this.unit}${from} in ${this.timeZone}`;
  }

  #find(time: number): CalendarWindow {
    let period = this.#periodOf(this.#zone.dayAt(Math.floor(time / 1000)));
    let start = this.#startOf(period);
    let end = this.#startOf(period + 1);
    // At a clock change, the local date can be set back to the day before.
    while (time >= end) {
      period += 1;
      start = end;
      end = this.#startOf(period + 1);
    }
    while (time < start) {
      period -= 1;
      end = start;
      start = this.#startOf(period);
    }
    return { start, end };
  }

  #startOf(period: number): number {
    return startOfDay(this.#zone, this.#firstDay(period)) * 1000;
  }

  /** The number of the day, week, month or year that has a day; days are counted from January 1, 1970. */
  #periodOf(day: number): number {
    if (this.unit === "day") return day;
    // It was a Thursday.
    if (this.unit === "week") return Math.floor((day + 3) / 7);
    const date = new Date(day * 86_400_000);
    if (this.unit === "year") return date.getUTCFullYear();
    const month = 12 * date.getUTCFullYear() + date.getUTCMonth();
    return day < this.#firstDay(month) ? month - 1 : month;
  }

  #firstDay(period: number): number {
    if (this.unit === "day") return period;
    if (this.unit === "week") return 7 * period - 3;
    if (this.unit === "year") return dayOf(12 * period, 1);
    return Math.min(dayOf(period, this.anchorDay), dayOf(period + 1, 0));
  }
}

const known = new Map<string, Calendar>();

/** The calendar with these properties. Throws a RangeError if there is no such time zone. */
export function calendarOf(unit: CalendarUnit, timeZone: string, anchorDay = 1): Calendar {
  const made = new Calendar(unit, TimeZone.named(timeZone), anchorDay);
  const calendar = known.get(made.id) ?? made;
  known.set(calendar.id, calendar);
  return calendar;
}

/** The number of a day; months are counted from year 0, and day 0 is the last one of the month before. */
function dayOf(month: number, day: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, day) / 86_400_000;
}
