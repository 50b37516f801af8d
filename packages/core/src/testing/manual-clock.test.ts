import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { ManualClock } from "./manual-clock.ts";

describe("a manual clock", () => {
  it("starts at the given time, in microseconds, and does not advance by itself", () => {
    expect(new ManualClock().now()).toBe(0);
    const clock = new ManualClock(1_700_000_000_000.25);
    expect(clock.now()).toBe(1_700_000_000_000_250);
    expect(clock.now()).toBe(1_700_000_000_000_250);
  });

  it("moves by as much as it is advanced", async () => {
    const clock = new ManualClock(5);
    await clock.advance(0.001);
    await clock.advance(1.5);
    expect(clock.now()).toBe(6_501);
  });

  it("can be set back or forward without waking sleepers", async () => {
    const clock = new ManualClock(100);
    const woken = sleepers(clock, { a: 10 });
    clock.set(500);
    await clock.advance(0);
    clock.set(50);
    expect(clock.now()).toBe(50_000);
    expect(woken).toEqual([["a", 500_000]]);
  });
});

describe("sleepers on a manual clock", () => {
  it("wake in order, each at its very moment", async () => {
    const clock = new ManualClock(1_000);
    const woken = sleepers(clock, { late: 30, early: 10, middle: 20.5 });
    await clock.advance(20);
    expect(woken).toEqual([["early", 1_010_000]]);
    await clock.advance(20);
    expect(woken).toEqual([
      ["early", 1_010_000],
      ["middle", 1_020_500],
      ["late", 1_030_000],
    ]);
    expect(clock.now()).toBe(1_040_000);
  });

  it("wake in the order in which they fell asleep, if at the same moment", async () => {
    const clock = new ManualClock();
    const woken = sleepers(clock, { first: 10, second: 10, third: 10 });
    await clock.advance(10);
    expect(woken.map(([name]) => name)).toEqual(["first", "second", "third"]);
  });

  it("may fall asleep again on the way, and wake within the same advance", async () => {
    const clock = new ManualClock();
    const times: number[] = [];
    const ticking = (async () => {
      for (let i = 0; i < 5; i += 1) {
        await clock.sleep(10);
        times.push(clock.now());
      }
    })();
    await clock.advance(1_000);
    await ticking;
    expect(times).toEqual([10_000, 20_000, 30_000, 40_000, 50_000]);
  });

  it("do not wake a microsecond early", async () => {
    const clock = new ManualClock();
    const woken = sleepers(clock, { a: 1 });
    await clock.advance(0.999);
    expect(woken).toEqual([]);
    await clock.advance(0.001);
    expect(woken).toEqual([["a", 1_000]]);
  });

  it.each([
    [16.1, 16_100],
    [1.001, 1_001],
    [333.3333, 333_334],
  ])("for %d ms wake after %d µs", async (ms, microseconds) => {
    const clock = new ManualClock(1_700_000_000_000);
    const woken = sleepers(clock, { a: ms });
    await clock.advance(1_000);
    expect(woken).toEqual([["a", 1_700_000_000_000_000 + microseconds]]);
  });

  it.each([0, -1, Number.NaN])("for %d ms need not be woken", async (ms) => {
    await new ManualClock().sleep(ms);
  });

  it("end with the reason of the signal that aborts, and are not woken later", async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const slept = clock.sleep(10, controller.signal);
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(slept).rejects.toBe(reason);
    await clock.advance(100);
  });

  it("do not fall asleep if the signal has aborted", async () => {
    const reason = new Error("too late");
    for (const ms of [0, 10]) {
      await expect(new ManualClock().sleep(ms, AbortSignal.abort(reason))).rejects.toBe(reason);
    }
  });

  it("leave nothing behind on the signal", async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const slept = clock.sleep(10, signal);
    await clock.advance(10);
    await slept;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

/** Puts some to sleep; fills the list that it answers with who woke, and when. */
function sleepers(clock: ManualClock, sleeps: Readonly<Record<string, number>>): [string, number][] {
  const woken: [string, number][] = [];
  for (const [name, ms] of Object.entries(sleeps)) void clock.sleep(ms).then(() => woken.push([name, clock.now()]));
  return woken;
}
