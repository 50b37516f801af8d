import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { parseRate } from "./rate.ts";

const SECOND = 1_000_000;

describe("a rate", () => {
  it.each([
    ["100/m", 100, 60 * SECOND],
    ["10/s", 10, SECOND],
    ["5/15m", 5, 900 * SECOND],
    ["1000/d", 1_000, 86_400 * SECOND],
    ["7/w", 7, 604_800 * SECOND],
    ["2/h", 2, 3_600 * SECOND],
    ["1/250ms", 1, SECOND / 4],
    ["10/1.5h", 10, 5_400 * SECOND],
    ["3/0.001ms", 3, 1],
    [" 100 / 15 m ", 100, 900 * SECOND],
    ["100/min", 100, 60 * SECOND],
    ["100/minute", 100, 60 * SECOND],
    ["5/15 minutes", 5, 900 * SECOND],
    ["10/sec", 10, SECOND],
    ["10/second", 10, SECOND],
    ["3/10 seconds", 3, 10 * SECOND],
    ["2/hr", 2, 3_600 * SECOND],
    ["2/hour", 2, 3_600 * SECOND],
    ["2/1.5hours", 2, 5_400 * SECOND],
    ["1000/day", 1_000, 86_400 * SECOND],
    ["1000/2days", 1_000, 172_800 * SECOND],
    ["7/week", 7, 604_800 * SECOND],
    ["1/250milliseconds", 1, SECOND / 4],
  ])("%s is %d each %d microseconds", (rate, limit, window) => {
    expect(parseRate(rate)).toMatchObject({ limit, window });
  });

  it.each([
    ["100/month", "month"],
    ["100/1 month", "month"],
    ["2/year", "year"],
    ["3/years", "year"],
  ])("%s follows the calendar", (rate, calendar) => {
    expect(parseRate(rate)).toEqual({ limit: Number.parseInt(rate, 10), window: undefined, calendar });
  });

  it.each([
    ["7/d", "day"],
    ["7/days", "day"],
    ["7/w", "week"],
    ["7/week", "week"],
    ["7/2d", undefined],
    ["7/24h", undefined],
  ])("%s may follow the calendar of a %s", (rate, calendar) => {
    expect(parseRate(rate)).toMatchObject({ window: expect.any(Number), calendar });
  });

  it.each(["100/2months", "1/0.5year"])("%s is not one period of the calendar", (rate) => {
    expect(refusal(() => parseRate(rate))).toMatchObject({ code: "HG_BAD_RATE", field: "rate" });
    expect(refusal(() => parseRate(rate)).message).toMatch(
      /^rate: must be per (month|year), not per several \1s, got /,
    );
  });

  it("can be numbers", () => {
    expect(parseRate({ limit: 100, windowMs: 60_000 })).toEqual({ limit: 100, window: 60 * SECOND });
    expect(parseRate({ limit: 1, windowMs: 0.5 })).toEqual({ limit: 1, window: 500 });
  });

  it.each([
    "",
    "100",
    "100/",
    "/m",
    "100/minut",
    "100/mon",
    "100/y",
    "100/Min",
    "100/constructor",
    "100 per minute",
    "100/m/s",
    "-1/m",
    "1.5/m",
    "1e3/m",
    "100/-5m",
    "100/1.m",
    "100/M",
    "١/m",
    100,
    null,
    undefined,
    [],
    { limit: 100 },
    { windowMs: 1_000 },
  ])("%j is refused, with the right form", (rate) => {
    const { code, field, message } = refusal(() => parseRate(rate));
    expect({ code, field }).toEqual({ code: "HG_BAD_RATE", field: "rate" });
    expect(message).toContain('must be like "100/m", "10/s", "5/15m", "1000/d"');
  });

  it.each(["100/0m", "100/0.0001ms", "1/99999999d"])("%s has no window that can be used", (rate) => {
    expect(refusal(() => parseRate(rate))).toMatchObject({ field: "rate" });
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, "1000", null, 1e-9, 1e300])(
    "windowMs %s is refused",
    (windowMs) => {
      expect(refusal(() => parseRate({ limit: 1, windowMs }))).toMatchObject({
        code: "HG_BAD_LIMIT",
        field: "windowMs",
      });
    },
  );
});
