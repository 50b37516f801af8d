import { expect, it } from "vitest";
import { operation, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore } from "../../../test/wrappers/cached/distant-store.ts";
import { cached, fixedWindow } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const START_MS = 1_700_000_000_000;
const ten = rule("ten", fixedWindow({ limit: 10, windowMs: 60_000 }));
const many = rule("many", fixedWindow({ limit: 1_000_000, windowMs: 60_000 }));

function setUp(roundTripMs = 4) {
  const clock = new ManualClock(START_MS);
  return { clock, node: cached(new DistantStore(clock, roundTripMs), { confirm: false, clock, flushMs: 10 }) };
}

it("a new cached store has empty stats", () => {
  expect(setUp().node.stats).toEqual({
    pendingUnits: 0,
    limitedKeys: 0,
    denied: 0,
    confirmed: 0,
    flushes: 0,
    failedFlushes: 0,
    roundTripMs: 0,
    meanRoundTripMs: 0,
    worstRoundTripMs: 0,
    timerLagMs: 0,
    worstTimerLagMs: 0,
    arrivalsPerSecond: 0,
    overAdmissionBound: 0,
    droppedUnits: { closed: 0, unconfirmed: 0, overflow: 0, rejected: 0, unwritten: 0 },
  });
});

it("units are pending until the store has confirmed them", async () => {
  const { clock, node } = setUp();
  node.apply("take", [operation(ten, "a", 3)]);
  node.apply("take", [operation(ten, "b", 2)]);
  await clock.advance(13);
  expect(node.stats).toMatchObject({ pendingUnits: 5, flushes: 1 });
  await clock.advance(1);
  expect(node.stats).toMatchObject({ pendingUnits: 0, flushes: 1, roundTripMs: 4, meanRoundTripMs: 4 });
});

it("denials that needed no store are counted, and the keys that they are for", async () => {
  const { clock, node } = setUp();
  for (const key of ["a", "b"]) node.apply("take", [operation(ten, key, 10)]);
  await clock.advance(20);
  for (let i = 0; i < 7; i += 1) node.apply("take", [operation(ten, "a")]);
  expect(node.stats).toMatchObject({ denied: 7, limitedKeys: 2 });
});

it("keys stop being limited when their denial ends, even without a request", async () => {
  const { clock, node } = setUp();
  for (let i = 0; i < 50; i += 1) node.apply("take", [operation(ten, `k${i}`, 10)]);
  await clock.advance(20);
  expect(node.stats.limitedKeys).toBe(50);
  await clock.advance(60_000);
  node.apply("take", [operation(ten, "other")]);
  await clock.advance(20);
  expect(node.stats.limitedKeys).toBe(0);
});

it("the bound on over-admission is the arrivals while a flush waits and travels", async () => {
  const { clock, node } = setUp(6);
  for (let ms = 0; ms < 8_000; ms += 1) {
    node.apply("take", [operation(many, "k", 2)]);
    await clock.advance(1);
  }
  const { arrivalsPerSecond, overAdmissionBound } = node.stats;
  expect(arrivalsPerSecond).toBeGreaterThan(1_980);
  expect(arrivalsPerSecond).toBeLessThan(2_020);
  expect(overAdmissionBound).toBeCloseTo((arrivalsPerSecond * 16) / 1000, 9);
  await clock.advance(10_000);
  expect(node.stats.arrivalsPerSecond).toBeLessThan(1);
});

it("a timer that fires late is measured, and counts in the bound", async () => {
  const clock = new ManualClock(START_MS);
  let lateMs = 0;
  const timers = { now: () => clock.now(), sleep: (ms: number) => clock.sleep(ms + lateMs) };
  const node = cached(new DistantStore(clock, 4), { confirm: false, clock: timers, flushMs: 10 });
  const forSomeTime = async (): Promise<void> => {
    for (let ms = 0; ms < 4_000; ms += 1) {
      node.apply("take", [operation(many, "k")]);
      await clock.advance(1);
    }
  };
  await forSomeTime();
  expect(node.stats).toMatchObject({ timerLagMs: 0, worstTimerLagMs: 0, worstRoundTripMs: 4 });
  lateMs = 30;
  await forSomeTime();
  const { arrivalsPerSecond, overAdmissionBound, timerLagMs, worstTimerLagMs } = node.stats;
  expect([timerLagMs, worstTimerLagMs]).toEqual([30, 30]);
  expect(overAdmissionBound).toBeCloseTo((arrivalsPerSecond * (10 + 30 + 4)) / 1000, 9);
  lateMs = 0;
  for (let i = 0; i < 4; i += 1) await forSomeTime();
  expect(node.stats).toMatchObject({ timerLagMs: 0, worstTimerLagMs: 0 });
});

it("requests that the store decided do not count in the bound", async () => {
  const clock = new ManualClock(START_MS);
  const node = cached(new DistantStore(clock, 4), { clock });
  const asked = Array.from({ length: 1_000 }, (_, i) => node.apply("take", [operation(ten, `k${i}`)]));
  await clock.advance(1_000);
  await Promise.all(asked);
  expect(node.stats).toMatchObject({ confirmed: 1_000, overAdmissionBound: 0 });
  expect(node.stats.arrivalsPerSecond).toBeGreaterThan(0);
});
