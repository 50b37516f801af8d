import { getEventListeners } from "node:events";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SystemClock } from "./system-clock.ts";

const HOUR = 3_600_000;

/** What the two clocks of the machine show, in milliseconds: the monotonic one, and the one that people set. */
let monotonic: number;
let wall: number;

beforeEach(() => {
  monotonic = 1_000;
  wall = performance.timeOrigin + monotonic;
  vi.spyOn(performance, "now").mockImplementation(() => monotonic);
  vi.spyOn(Date, "now").mockImplementation(() => Math.floor(wall));
});

afterEach(() => {
  vi.restoreAllMocks();
});

function pass(ms: number): void {
  monotonic += ms;
  wall += ms;
}

describe("the time of the system's clock", () => {
  it("is that of the wall clock, in whole microseconds", () => {
    const now = new SystemClock().now();
    expect(Number.isSafeInteger(now)).toBe(true);
    expect(Math.abs(now / 1000 - wall)).toBeLessThan(1);
  });

  it("passes as the monotonic clock does, to the microsecond", () => {
    const clock = new SystemClock();
    const start = clock.now();
    pass(0.25);
    expect(clock.now() - start).toBe(250);
    pass(400);
    expect(clock.now() - start).toBe(400_250);
  });

  it("follows a wall clock that is put forward, or a machine that slept, within a second", () => {
    const clock = new SystemClock();
    const start = clock.now();
    wall += HOUR;
    pass(1_001);
    expect(Math.abs((clock.now() - start) / 1000 - HOUR - 1_001)).toBeLessThan(2);
    pass(10);
    expect(Math.abs((clock.now() - start) / 1000 - HOUR - 1_011)).toBeLessThan(2);
  });

  it("follows one that was put forward between the start of the process and the first reading", () => {
    wall += HOUR;
    expect(Math.abs(new SystemClock().now() / 1000 - wall)).toBeLessThan(1);
  });

  it("ignores one that is put back", () => {
    const clock = new SystemClock();
    const start = clock.now();
    wall -= HOUR;
    for (let second = 1; second <= 10; second += 1) {
      pass(1_001);
      expect(clock.now() - start).toBe(second * 1_001_000);
    }
  });

  it("is not driven on by one that is put forward and back again and again", () => {
    const clock = new SystemClock();
    const start = clock.now();
    for (let i = 0; i < 10; i += 1) {
      wall += HOUR;
      pass(1_001);
      clock.now();
      wall -= HOUR;
      pass(1_001);
      clock.now();
    }
    // One hour in all, and the twenty seconds that really passed.
    expect((clock.now() - start) / 1000).toBeLessThan(HOUR + 20 * 1_001 + 2);
  });

  it("does not follow what is no more than the two clocks drifting apart", () => {
    const clock = new SystemClock();
    const start = clock.now();
    wall += 90;
    pass(1_001);
    expect(clock.now() - start).toBe(1_001_000);
  });

  it("never goes back, whatever is done to the wall clock", () => {
    const jumps = fc.array(
      fc.record({ ms: fc.double({ min: 0, max: 3_000, noNaN: true }), put: fc.integer({ min: -HOUR, max: HOUR }) }),
    );
    fc.assert(
      fc.property(jumps, (sequence) => {
        const clock = new SystemClock();
        let latest = clock.now();
        for (const { ms, put } of sequence) {
          wall += put;
          pass(ms);
          const now = clock.now();
          expect(now).toBeGreaterThanOrEqual(latest);
          latest = now;
        }
      }),
    );
  });
});

describe("a reading that is used again", () => {
  it("saves most readings in a tight loop", () => {
    const clock = new SystemClock();
    const reads = vi.mocked(performance.now);
    loop(clock, 100, 0.1);
    reads.mockClear();
    loop(clock, 3_200, 0.1);
    expect(reads.mock.calls.length).toBeLessThanOrEqual(101);
  });

  it("is not used again by requests that come on their own", () => {
    const clock = new SystemClock();
    for (const gap of [2, 10, 100, 1_000]) expect(loop(clock, 1_000, gap).oldest).toBe(0);
  });

  it("is at most 50 µs old in a loop of any steady pace", () => {
    for (let gap = 0; gap <= 4; gap += 0.01) {
      expect(loop(new SystemClock(), 300, gap).oldest).toBeLessThanOrEqual(50);
    }
  });

  it("serves at most 63 more checks when a tight loop turns slow", () => {
    for (let before = 0; before < 70; before += 1) {
      const clock = new SystemClock();
      loop(clock, 50 + before, 0.1);
      // Each check now takes a millisecond.
      expect(loop(clock, 100, 1_000).stale).toBeLessThanOrEqual(63);
    }
  });

  it("is never older than the run of code that read it", async () => {
    const clock = new SystemClock();
    const ways: (() => Promise<void>)[] = [
      async () => {},
      () => new Promise((resolve) => setTimeout(resolve, 0)),
      () => new Promise((resolve) => setImmediate(resolve)),
      () => new Promise((resolve) => queueMicrotask(resolve)),
      () => Promise.resolve().then(() => {}),
    ];
    for (const way of ways) {
      for (const checks of [8, 9, 10, 20, 41, 100]) {
        loop(clock, checks, 0.1);
        pass(5);
        await way();
        expect(age(clock)).toBe(0);
      }
    }
  });

  it("is never older than the run of code that read it, if that run began with an await, too", async () => {
    const clock = new SystemClock();
    await null;
    loop(clock, 50, 0.1);
    pass(5);
    await null;
    expect(age(clock)).toBe(0);
    loop(clock, 50, 0.1);
    pass(5);
    await null;
    expect(age(clock)).toBe(0);
  });

  /** Checks in a row, `gap` microseconds apart: how old the oldest time was that one of them got, and how many got an old one. */
  function loop(clock: SystemClock, checks: number, gap: number): { oldest: number; stale: number } {
    let oldest = 0;
    let stale = 0;
    for (let i = 0; i < checks; i += 1) {
      pass(gap / 1000);
      const old = age(clock);
      if (old > 0) stale += 1;
      oldest = Math.max(oldest, old);
    }
    return { oldest, stale };
  }

  function age(clock: SystemClock): number {
    // The wall clock stays with the monotonic one here, so the time is that of its origin.
    return Math.round(performance.timeOrigin * 1000) + Math.floor(monotonic * 1000) - clock.now();
  }
});

describe("a sleep by the system's clock", () => {
  beforeEach(() => {
    vi.restoreAllMocks();
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([1, 0.4, 1_500.25, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 5_000, 90 * 24 * HOUR])(
    "of %d ms lasts as long",
    async (ms) => {
      const woken = vi.fn();
      const slept = new SystemClock().sleep(ms).then(woken);
      await vi.advanceTimersByTimeAsync(Math.ceil(ms) - 1);
      expect(woken).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      await slept;
      expect(woken).toHaveBeenCalled();
    },
  );

  it.each([0, -5, Number.NaN])("of %d ms is over at once", async (ms) => {
    await new SystemClock().sleep(ms);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("continues if its timer fires early", async () => {
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const woken = vi.fn();
    const slept = new SystemClock().sleep(10).then(woken);
    now = 9.5;
    await vi.advanceTimersByTimeAsync(10);
    expect(woken).not.toHaveBeenCalled();
    now = 10.1;
    await vi.advanceTimersByTimeAsync(1);
    await slept;
  });

  it.each([100, Number.POSITIVE_INFINITY])("of %d ms ends with the reason of the signal that aborts", async (ms) => {
    const controller = new AbortController();
    const slept = new SystemClock().sleep(ms, controller.signal);
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(slept).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([0, 100])("of %d ms does not begin if the signal has aborted", async (ms) => {
    const reason = new Error("too late");
    await expect(new SystemClock().sleep(ms, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("leaves nothing behind on the signal", async () => {
    const { signal } = new AbortController();
    const slept = new SystemClock().sleep(2 ** 31 + 5, signal);
    await vi.advanceTimersByTimeAsync(2 ** 31 + 5);
    await slept;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
