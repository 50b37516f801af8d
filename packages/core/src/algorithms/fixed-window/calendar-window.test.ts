import * as fc from "fast-check";
import { refusal } from "headgate-testkit/refusal";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { expectAnswer } from "../../../test/algorithms/follows-model.ts";
import { calendarLimits } from "../../../test/algorithms/limits.ts";
import { CalendarWindowModel } from "../../../test/algorithms/models/calendar-window.ts";
import { Row } from "../../../test/algorithms/row.ts";
import { play, requests } from "../../../test/algorithms/traffic.ts";
import { Calendar, type CalendarWindow, calendarOf } from "../../limits/calendar.ts";
import { limitFromSpec } from "../../limits/spec.ts";
import { TimeZone } from "../../limits/time-zone.ts";
import { rateAlgorithms } from "../lookup.ts";
import { fixedWindow } from "./index.ts";

const rateAlgorithmsWithoutCalendar = rateAlgorithms.filter(({ calendar }) => calendar === undefined);

const HOUR = 3_600_000_000;

function at(text: string): number {
  return Date.parse(text) * 1000;
}

describe("fixed_window by the calendar", patience, () => {
  it("decides as a count of the admissions in each window", () => {
    const property = fc.property(calendarLimits(), requests, (limit, traffic) => {
      if (limit.calendar === undefined) throw new Error("there is no calendar");
      const model = new CalendarWindowModel(limit.limit, limit.calendar);
      play(new Row(limit), traffic, (now, cost, answer) => {
        expectAnswer(answer, model.take(BigInt(now), BigInt(cost)), limit);
      });
    });
    fc.assert(property, runs(60));
  });

  it("has days of 23 and 25 hours", () => {
    const day = (text: string): number => {
      const row = new Row(fixedWindow("1/d", { timeZone: "Europe/Berlin" }));
      return row.take(at(text), 1).resetAfter / HOUR;
    };
    expect(day("2026-03-28T23:00Z")).toBe(23);
    expect(day("2026-10-24T22:00Z")).toBe(25);
    expect(day("2026-11-16T23:00Z")).toBe(24);
  });

  it("counts in the stored window until it ends, although the caller has other time-zone data", () => {
    const row = new Row(fixedWindow("10/month", { timeZone: "Europe/Berlin" }));
    const october = at("2026-10-31T22:59:59Z");
    row.take(october, 8);
    // This caller believes that November has begun an hour ago.
    const early = shifted(row, -HOUR);
    expect(early.take(october, 3)).toMatchObject({ allowed: false, retryAfter: 1_000_000 });
    expect(early.take(at("2026-10-31T23:00Z"), 3)).toMatchObject({ allowed: true, remaining: 7 });
    // In the window that the caller has stored, the others count too.
    const others = early.copy(row.limit);
    expect(others.take(at("2026-11-30T21:59:59Z"), 8)).toMatchObject({ allowed: false, retryAfter: 1_000_000 });
    expect(others.take(at("2026-11-30T22:00Z"), 10)).toMatchObject({ allowed: true, resetAfter: HOUR });
  });

  it("lets a clock that is set back count in the window that it has reached", () => {
    const row = new Row(fixedWindow("10/month"));
    expect(row.take(at("2026-11-01T00:00Z"), 10).allowed).toBe(true);
    expect(row.take(at("2026-10-31T23:00Z"), 1)).toMatchObject({
      allowed: false,
      retryAfter: at("2026-12-01T00:00Z") - at("2026-10-31T23:00Z"),
    });
  });

  it("refunds nothing into the next window", () => {
    const row = new Row(fixedWindow("10/month"));
    row.take(at("2026-10-31T23:00Z"), 10);
    row.refund(at("2026-11-01T00:00Z"), 4);
    row.take(at("2026-11-01T00:00Z"), 5);
    row.refund(at("2026-11-01T00:00Z"), 2);
    expect(row.ask(at("2026-11-01T00:00Z"), 0).remaining).toBe(7);
  });
});

describe("a calendar is stated", () => {
  it("by the unit of a rate: always per month and year, and in a time zone per day and week", () => {
    expect(fixedWindow("5/month").calendar).toBe(calendarOf("month", "UTC"));
    expect(fixedWindow("5/year", { timeZone: "Asia/Tokyo" }).calendar).toBe(calendarOf("year", "Asia/Tokyo"));
    expect(fixedWindow("5/d").calendar).toBeUndefined();
    expect(fixedWindow("5/w").calendar).toBeUndefined();
    expect(fixedWindow("5/d", { timeZone: "UTC" }).calendar).toBe(calendarOf("day", "UTC"));
    expect(fixedWindow("5/week", { timeZone: "UTC" }).calendar).toBe(calendarOf("week", "UTC"));
    expect(fixedWindow("5/month", { anchorDay: 31 }).calendar).toBe(calendarOf("month", "UTC", 31));
  });

  it("by the fields of a specification", () => {
    const spec = { algorithm: "fixed_window", limit: 5 };
    expect(limitFromSpec({ ...spec, calendar: "week" }).calendar).toBe(calendarOf("week", "UTC"));
    expect(limitFromSpec({ ...spec, calendar: "month", time_zone: "Europe/Berlin", anchor_day: 15 }).calendar).toBe(
      calendarOf("month", "Europe/Berlin", 15),
    );
  });

  it.each([
    [
      { timeZone: "Mars/Olympus" },
      "timeZone",
      /must be an IANA time zone such as "Europe\/Berlin" or "UTC", got "Mars/,
    ],
    [{ timeZone: "+01:00" }, "timeZone", /must be an IANA time zone/],
    [{ timeZone: "" }, "timeZone", /must be an IANA time zone/],
    [{ timeZone: 5 }, "timeZone", /must be an IANA time zone/],
    [{ anchorDay: 0 }, "anchorDay", /must be a day of the month from 1 to 31, got 0/],
    [{ anchorDay: 32 }, "anchorDay", /from 1 to 31/],
    [{ anchorDay: 1.5 }, "anchorDay", /from 1 to 31/],
    [{ anchorDay: "02-29" }, "anchorDay", /from 1 to 31, got "02-29"; months without it start on their last day/],
    [{ anchor: "request" }, "anchor", /cannot be combined with a calendar/],
    [{ calendar: "month" }, "calendar", /is unknown/],
  ])("and refused as 5/month with %j", (options, field, message) => {
    const refused = refusal(() => fixedWindow("5/month", options as never));
    expect(refused).toMatchObject({ code: "HG_BAD_LIMIT", field });
    expect(refused.message).toMatch(message);
  });

  it.each([
    ["5/year", { anchorDay: 29 }, "anchorDay", /applies to windows of one month, not of one year/],
    ["5/w", { timeZone: "UTC", anchorDay: 2 }, "anchorDay", /not of one week/],
    ["5/d", { anchorDay: 2 }, "anchorDay", /requires a calendar: windows of one month/],
    ["5/h", { timeZone: "UTC" }, "timeZone", /requires a calendar: windows of one day, week, month or year/],
    ["5/2d", { timeZone: "UTC" }, "timeZone", /requires a calendar: windows of one day/],
    [{ limit: 5, windowMs: 86_400_000 }, { timeZone: "UTC" }, "timeZone", /requires a calendar: windows of one day/],
  ])("and refused as %j with %j", (rate, options, field, message) => {
    const refused = refusal(() => fixedWindow(rate, options));
    expect(refused).toMatchObject({ code: "HG_BAD_LIMIT", field });
    expect(refused.message).toMatch(message);
  });

  it.each([
    [{ calendar: "fortnight" }, "calendar"],
    [{ calendar: "day", window: 60 }, "window"],
    [{ window: 60, time_zone: "UTC" }, "time_zone"],
    [{ window: 60, anchor_day: 1 }, "anchor_day"],
    [{ calendar: "year", anchor_day: 29 }, "anchor_day"],
    [{ calendar: "month", anchor: "request" }, "anchor"],
  ])("and refused in a specification as %j", (fields, field) => {
    const refused = refusal(() => limitFromSpec({ algorithm: "fixed_window", limit: 5, ...fields }, "x"));
    expect(refused).toMatchObject({ code: "HG_BAD_LIMIT", field: `x.${field}` });
  });

  it.each(rateAlgorithmsWithoutCalendar)("and refused for a $name", ({ name, build }) => {
    expect(refusal(() => build("5/month"))).toMatchObject({
      code: "HG_BAD_RATE",
      field: "rate",
      message: expect.stringContaining("only fixedWindow follows the calendar"),
    });
    expect(refusal(() => build("5/d", { timeZone: "UTC" })).field).toBe("timeZone");
    expect(refusal(() => limitFromSpec({ algorithm: name, limit: 5, calendar: "month" })).field).toBe("calendar");
  });
});

/** The row as a caller sees it whose windows start and end later. */
function shifted(row: Row, by: number): Row {
  const zone = TimeZone.named("Europe/Berlin");
  const other = new (class extends Calendar {
    override windowAt(time: number): CalendarWindow {
      const { start, end } = super.windowAt(time - by);
      return { start: start + by, end: end + by };
    }
  })("month", zone, 1);
  return row.copy(Object.freeze({ ...row.limit, calendar: other }));
}
