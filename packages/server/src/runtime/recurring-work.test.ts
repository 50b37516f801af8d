import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Timetable } from "./recurring-work.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-01T00:00:03Z") });
});
afterEach(() => {
  vi.useRealTimers();
});

it("does its work at whole multiples of the interval, by the wall clock", async () => {
  const times: string[] = [];
  const timetable = new Timetable();
  timetable.every(10_000, async () => {
    times.push(new Date().toISOString().slice(17, 19));
  });
  await vi.advanceTimersByTimeAsync(30_000);
  expect(times).toEqual(["10", "20", "30"]);
  await timetable.stop();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(times).toHaveLength(3);
});

it("does not begin again before it has ended, and stops when that has", async () => {
  let begun = 0;
  let end = () => {};
  const timetable = new Timetable();
  timetable.every(10_000, () => {
    begun += 1;
    return new Promise((resolve) => {
      end = resolve;
    });
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(begun).toBe(1);
  let isStopped = false;
  const stopped = timetable.stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isStopped).toBe(false);
  end();
  await stopped;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(begun).toBe(1);
});
