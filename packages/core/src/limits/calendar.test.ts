import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { oracleWindow } from "../../test/algorithms/models/calendar-oracle.ts";
import { CALENDAR_UNITS, calendarOf } from "./calendar.ts";

const zones = Intl.supportedValuesOf("timeZone");

function windowOf(...[unit, zone, day, time]: [...Parameters<typeof calendarOf>, string]): readonly string[] {
  const { start, end } = calendarOf(unit, zone, day).windowAt(Date.parse(time) * 1000);
  return [start, end].map((boundary) => new Date(boundary / 1000).toISOString().slice(0, 16));
}

describe("a window of a calendar", patience, () => {
  it.each([
    ["a day", "day", "UTC", 1, "2026-11-17T22:00Z", "2026-11-17T00:00", "2026-11-18T00:00"],
    ["a week from Monday", "week", "UTC", 1, "2026-11-15T23:59Z", "2026-11-09T00:00", "2026-11-16T00:00"],
    ["a month of 28 days", "month", "UTC", 1, "2026-02-28T23:59Z", "2026-02-01T00:00", "2026-03-01T00:00"],
    ["a month of 29 days", "month", "UTC", 1, "2028-02-29T23:59Z", "2028-02-01T00:00", "2028-03-01T00:00"],
    ["a year", "year", "UTC", 1, "2028-02-29T23:59Z", "2028-01-01T00:00", "2029-01-01T00:00"],
    ["an odd offset", "day", "Asia/Kathmandu", 1, "2026-11-17T18:15Z", "2026-11-17T18:15", "2026-11-18T18:15"],
    ["a day of 23 hours", "day", "Europe/Berlin", 1, "2026-03-29T12:00Z", "2026-03-28T23:00", "2026-03-29T22:00"],
    ["a day of 25 hours", "day", "Europe/Berlin", 1, "2026-10-25T12:00Z", "2026-10-24T22:00", "2026-10-25T23:00"],
    ["no midnight", "day", "America/Sao_Paulo", 1, "2017-10-15T12:00Z", "2017-10-15T03:00", "2017-10-16T02:00"],
    ["two midnights", "day", "America/Havana", 1, "2026-11-01T12:00Z", "2026-11-01T04:00", "2026-11-02T05:00"],
    ["a date twice", "day", "America/St_Johns", 1, "2006-10-29T02:45Z", "2006-10-29T02:30", "2006-10-30T03:30"],
    ["a skipped day", "day", "Pacific/Apia", 1, "2011-12-30T12:00Z", "2011-12-30T10:00", "2011-12-31T10:00"],
    ["before a skipped day", "day", "Pacific/Apia", 1, "2011-12-30T09:59Z", "2011-12-29T10:00", "2011-12-30T10:00"],
    ["from a skipped day", "month", "Pacific/Apia", 30, "2012-01-01T00:00Z", "2011-12-30T10:00", "2012-01-29T10:00"],
    ["day 31 in February", "month", "UTC", 31, "2026-02-28T00:00Z", "2026-02-28T00:00", "2026-03-31T00:00"],
    ["day 31 in a leap year", "month", "UTC", 31, "2028-02-28T23:59Z", "2028-01-31T00:00", "2028-02-29T00:00"],
    ["day 29", "month", "UTC", 29, "2027-03-01T00:00Z", "2027-02-28T00:00", "2027-03-29T00:00"],
    ["day 15 over a new year", "month", "UTC", 15, "2027-01-14T23:59Z", "2026-12-15T00:00", "2027-01-15T00:00"],
    ["before 1970", "month", "Europe/London", 1, "1969-12-31T22:59Z", "1969-11-30T23:00", "1969-12-31T23:00"],
  ] as const)("%s", (_, unit, zone, day, time, start, end) => {
    expect(windowOf(unit, zone, day, time)).toEqual([start, end]);
  });

  it("is the one that every minute of the local clock agrees with, in all zones", () => {
    const times = fc.integer({ min: Date.UTC(1971, 0, 1), max: Date.UTC(2100, 0, 1) });
    const property = fc.property(
      fc.constantFrom(...CALENDAR_UNITS),
      fc.constantFrom(...zones),
      fc.integer({ min: 1, max: 31 }),
      times,
      (unit, zone, day, time) => {
        const { start, end } = calendarOf(unit, zone, unit === "month" ? day : 1).windowAt(time * 1000);
        expect([start / 1000, end / 1000]).toEqual(oracleWindow(unit, zone, day, time));
      },
    );
    fc.assert(property, runs(150));
  });

  it("follows the one before it without a gap, in all zones, at every time", () => {
    const starts = fc.integer({ min: Date.UTC(1971, 0, 1), max: Date.UTC(2100, 0, 1) });
    const property = fc.property(
      fc.constantFrom(...CALENDAR_UNITS),
      fc.constantFrom(...zones),
      starts,
      (unit, zone, ms) => {
        const calendar = calendarOf(unit, zone);
        const [before, start, end, after] = calendar.boundariesAround(ms * 1000);
        expect(calendar.windowAt(ms * 1000)).toEqual({ start, end });
        expect(calendar.windowAt(start)).toEqual({ start, end });
        expect(calendar.windowAt(end - 1)).toEqual({ start, end });
        expect(calendar.windowAt(start - 1)).toEqual({ start: before, end: start });
        expect(calendar.windowAt(end)).toEqual({ start: end, end: after });
        expect(end - start).toBeGreaterThan(0);
        expect(end - start).toBeLessThanOrEqual(calendar.longest);
      },
    );
    fc.assert(property, runs(150));
  });
});

it("equal calendars are the same object", () => {
  expect(calendarOf("month", "Europe/Berlin", 15)).toBe(calendarOf("month", "Europe/Berlin", 15));
  expect(calendarOf("month", "Europe/Berlin")).not.toBe(calendarOf("month", "Europe/Paris"));
  expect(String(calendarOf("month", "Europe/Berlin", 15))).toBe("month from day 15 in Europe/Berlin");
  expect(String(calendarOf("week", "UTC"))).toBe("week in UTC");
});

it.each(["Mars/Olympus", "", "+01:00", "-03", "5"])("%j is not a time zone", (name) => {
  expect(() => calendarOf("day", name)).toThrow(RangeError);
});
