import { afterEach, describe, expect, it, vi } from "vitest";
import { MonotonicClock } from "./monotonic-clock.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** A machine whose own count of time and wall clock are moved by hand, in milliseconds. */
function machine(): { own: number; wall: number } {
  const times = { own: 1_000, wall: 1_700_000_000_000 };
  vi.spyOn(performance, "now").mockImplementation(() => times.own);
  vi.spyOn(Date, "now").mockImplementation(() => times.wall);
  return times;
}

describe("the clock of deadlines", () => {
  it("counts the machine's own time", () => {
    const times = machine();
    const clock = new MonotonicClock();
    const start = clock.now();
    times.own += 250;
    times.wall += 250;
    expect(clock.now() - start).toBe(250_000);
  });

  it("does not run back with the wall clock", () => {
    const times = machine();
    const clock = new MonotonicClock();
    const start = clock.now();
    times.wall -= 3_600_000;
    times.own += 1;
    expect(clock.now() - start).toBe(1_000);
  });

  it("counts the time that the machine slept", () => {
    const times = machine();
    const clock = new MonotonicClock();
    const start = clock.now();
    times.wall += 60_000;
    times.own += 1;
    expect(clock.now() - start).toBe(60_000_000);
    times.wall += 5;
    times.own += 5;
    expect(clock.now() - start).toBe(60_005_000);
  });

  it("heeds no small step of the wall clock", () => {
    const times = machine();
    const clock = new MonotonicClock();
    const start = clock.now();
    times.wall += 90;
    expect(clock.now() - start).toBe(0);
  });

  it("sleeps unless the signal is aborted", async () => {
    const clock = new MonotonicClock();
    await clock.sleep(1);
    const stop = new AbortController();
    const asleep = clock.sleep(60_000, stop.signal);
    stop.abort(new Error("enough"));
    await expect(asleep).rejects.toThrow("enough");
    await expect(clock.sleep(1, stop.signal)).rejects.toThrow("enough");
  });
});
