import { describe, expect, it } from "vitest";
import { Row } from "../../test/algorithms/row.ts";
import {
  bucketedWindow,
  fixedWindow,
  gcra,
  leakyBucket,
  slidingWindow,
  slidingWindowLog,
  tokenBucket,
} from "../algorithms/registry.ts";
import type { Limit } from "../limits/limit.ts";
import type { Rate } from "../limits/rate.ts";

// What other limiters have got wrong, each tried on every algorithm.

const SECOND = 1_000_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
/** At the start of an aligned window of every length that is used here. */
const START = 19_080 * DAY;

const everyKind: readonly (readonly [string, (rate: Rate) => Limit])[] = [
  ["token_bucket", tokenBucket],
  ["leaky_bucket", leakyBucket],
  ["gcra", gcra],
  ["fixed_window by the clock", fixedWindow],
  ["fixed_window by request", (rate) => fixedWindow(rate, { anchor: "request" })],
  ["sliding_window_log", slidingWindowLog],
  ["sliding_window_counter", slidingWindow],
  ["bucketed_window", bucketedWindow],
  ["bucketed_window, exact", (rate) => bucketedWindow(rate, { exact: true })],
];

/** Asks repeatedly for one unit at the same instant. Returns how many were granted. */
function takeOnes(row: Row, now: number, times: number): number {
  return Array.from({ length: times }, () => row.take(now, 1)).filter(({ allowed }) => allowed).length;
}

describe.each(everyKind)("%s", (_name, limitOf) => {
  it("enforces more requests than there are ticks of a millisecond", () => {
    const row = new Row(limitOf("2000/s"));
    let passed = 0;
    for (let tick = 0; tick < 1_000; tick += 1) passed += takeOnes(row, START + tick * 1_000, 5);
    // What fills at a rate has its burst at once, and 2 more each millisecond.
    const fills = ["token_bucket", "leaky_bucket", "gcra"].includes(row.limit.algorithm);
    expect(passed).toBe(fills ? 2_000 + 2 * 999 : 2_000);
  });

  it("enforces a window of thirty days", () => {
    const row = new Row(limitOf("3/30d"));
    expect(takeOnes(row, START, 4)).toBe(3);
    const { retryAfter } = row.ask(START, 3);
    expect(retryAfter).toBeGreaterThan(15 * DAY);
    expect(row.ask(START + retryAfter - 1, 3).allowed).toBe(false);
    expect(row.take(START + retryAfter, 3).allowed).toBe(true);
  });

  it("is full after twelve idle hours, no more and no less", () => {
    const row = new Row(limitOf("10/s"));
    takeOnes(row, START, 10);
    expect(row.ask(START + 12 * HOUR, 0)).toEqual({ allowed: true, remaining: 10, retryAfter: 0, resetAfter: 0 });
    expect(takeOnes(row, START + 12 * HOUR, 20)).toBe(10);
  });

  it("lets the first through when the limit is 1, and not the second", () => {
    const row = new Row(limitOf("1/m"));
    expect(row.take(START, 1)).toMatchObject({ allowed: true, remaining: 0 });
    expect(row.take(START, 1).allowed).toBe(false);
  });

  it("denies what does not fit without charging it", () => {
    const row = new Row(limitOf("10/m"));
    row.take(START, 6);
    expect(row.take(START, 6)).toMatchObject({ allowed: false, remaining: 4 });
    expect(row.take(START, 1)).toMatchObject({ allowed: true, remaining: 3 });
  });

  it("gives nothing when the clock goes back an hour, and computes the wait by the caller's clock", () => {
    const row = new Row(limitOf("10/s"));
    takeOnes(row, START, 10);
    expect(takeOnes(row, START - HOUR, 10)).toBe(0);
    const { retryAfter } = row.ask(START - HOUR, 1);
    expect(retryAfter).toBe(HOUR + row.ask(START, 1).retryAfter);
    expect(retryAfter).toBeLessThanOrEqual(HOUR + 2 * SECOND);
    expect(row.take(START - HOUR + retryAfter, 1).allowed).toBe(true);
  });

  it("gives one full quota when the clock goes forward an hour", () => {
    const row = new Row(limitOf("10/s"));
    takeOnes(row, START, 10);
    expect(takeOnes(row, START + HOUR, 30)).toBe(10);
  });

  it("gives nothing for a clock that flaps", () => {
    const row = new Row(limitOf("10/s"));
    let passed = 0;
    for (let i = 0; i < 1_000; i += 1) passed += takeOnes(row, START + (i % 2) * HOUR, 1);
    expect(passed).toBeLessThanOrEqual(20);
  });

  it("answers, if only by a refusal, when the clock is broken", () => {
    const row = new Row(limitOf("10/s"));
    row.take(START, 10);
    expect(row.ask(Number.NaN, 1).allowed).toBe(false);
    expect(row.ask(Number.NEGATIVE_INFINITY, 1).allowed).toBe(false);
  });

  it("puts a changed limit in force at once", () => {
    const row = new Row(limitOf("10/m"));
    takeOnes(row, START, 10);
    row.limit = limitOf("15/m");
    expect(takeOnes(row, START, 10)).toBe(5);
    row.limit = limitOf("5/m");
    expect(row.take(START, 1)).toMatchObject({ allowed: false, remaining: 0 });
  });
});
