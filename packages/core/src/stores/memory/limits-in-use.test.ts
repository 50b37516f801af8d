import { describe, expect, it } from "vitest";
import { fixedWindow, gcra, type Limit, MemoryStore, slidingWindowLog, tokenBucket } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const HOUR = 3_600_000;

const kinds: [string, Limit, Limit][] = [
  ["token buckets", tokenBucket("10/h"), tokenBucket("1000000/h")],
  ["GCRAs", gcra("10/h"), gcra("1000000/h")],
  ["fixed windows", fixedWindow("10/h"), fixedWindow("10/s")],
  ["logs", slidingWindowLog("10/h"), slidingWindowLog("10/s")],
];

describe.each(kinds)("%s under one name with different limits", (_, slow, quick) => {
  const name = "api";
  function scene() {
    const clock = new ManualClock(HOUR);
    const store = new MemoryStore({ clock });
    const take = (limit: Limit, key: string, cost = 1): boolean =>
      store.apply("take", [{ rule: { name, limit }, key, cost }])[0].allowed;
    /** Lets time pass, with one check by the quick limit each so many milliseconds: rows are looked through by that. */
    const pass = async (ms: number, step: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += step) {
        await clock.advance(step);
        take(quick, "busy", 0);
      }
    };
    return { clock, store, take, pass };
  }

  it("keep the row of a slow one as long as it counts, whatever quick ones come between", async () => {
    const { take, pass } = scene();
    take(slow, "limited", 10);
    await pass(50 * 60_000, 30_000);
    // What a bucket has got back in that time is taken too.
    for (let i = 0; i < 10; i += 1) take(slow, "limited");
    expect(take(slow, "limited")).toBe(false);
  });

  it("keep it also if the slow one was used last before others, and not at the beginning", async () => {
    const { take, pass } = scene();
    take(quick, "busy");
    await pass(4 * HOUR, 60_000);
    take(slow, "limited", 10);
    await pass(5 * 60_000, 10_000);
    for (let i = 0; i < 10; i += 1) take(slow, "limited");
    expect(take(slow, "limited")).toBe(false);
  });

  it("forget the slow one when it is not used any more: rows go again as soon as the quick ones are blank", async () => {
    const { store, take, pass } = scene();
    take(slow, "limited", 10);
    await pass(8 * HOUR, 60_000);
    for (let i = 0; i < 20; i += 1) take(quick, `passer-by ${i}`);
    expect(store.stats[name].keys).toBeGreaterThanOrEqual(20);
    await pass(20_000, 1_000);
    expect(store.stats[name].keys).toBeLessThanOrEqual(1);
  });
});
