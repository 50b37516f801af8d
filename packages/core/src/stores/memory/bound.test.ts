import { describe, expect, it } from "vitest";
import { bucketedWindow, fixedWindow, gcra, slidingWindow, slidingWindowLog } from "../../algorithms/registry.ts";
import type { MemoryLimiter } from "../../limiter/memory-limiter.ts";
import type { Limit } from "../../limits/limit.ts";
import { rateLimiter } from "../../rate-limiter.ts";
import { ManualClock } from "../../testing/index.ts";

const kinds: [string, Limit][] = [
  ["gcra", gcra("5/m")],
  ["fixed_window", fixedWindow("5/m")],
  ["sliding_window_counter", slidingWindow("5/m")],
  ["sliding_window_log", slidingWindowLog("5/m")],
  ["bucketed_window", bucketedWindow("5/m")],
];

const MAX_KEYS = 100;

describe.each(kinds)("a full store under a %s", (_name, limit) => {
  it("never forgets a limited key, though ten times as many keys come as there is room for", () => {
    const { limiter, clock } = boundedLimiter(limit);
    for (let i = 0; i < 10; i += 1) limiter.penalizeSync("api", `limited ${i}`, { cost: 20 });
    for (let i = 0; i < 10 * MAX_KEYS; i += 1) {
      clock.set(10 * i);
      limiter.checkSync("api", `flood ${i}`);
    }
    for (let i = 0; i < 10; i += 1) expect(limiter.checkSync("api", `limited ${i}`).allowed).toBe(false);
    // The shared row is the one more.
    expect(statsOf(limiter).keys).toBeLessThanOrEqual(MAX_KEYS + 1);
  });

  it("lets the keys that found no room share one quota, and counts their checks", () => {
    const { limiter } = boundedLimiter(limit);
    for (let i = 0; i < MAX_KEYS; i += 1) limiter.checkSync("api", `tracked ${i}`);
    expect(statsOf(limiter)).toMatchObject({ keys: MAX_KEYS, overflowed: 0 });
    const decisions = Array.from({ length: 20 }, (_, i) => limiter.checkSync("api", `untracked ${i}`));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([...Array(5).fill(true), ...Array(15).fill(false)]);
    expect(statsOf(limiter).overflowed).toBe(20);
    // The keys that came first keep their quota.
    for (let i = 0; i < MAX_KEYS; i += 1)
      expect(limiter.checkSync("api", `tracked ${i}`, { cost: 4 }).allowed).toBe(true);
    expect(statsOf(limiter).overflowed).toBe(20);
  });

  it("does not let one of those free the others by a reset", () => {
    const { limiter } = boundedLimiter(limit);
    for (let i = 0; i < MAX_KEYS; i += 1) limiter.checkSync("api", `tracked ${i}`);
    for (let i = 0; i < 5; i += 1) limiter.checkSync("api", `untracked ${i}`);
    expect(limiter.resetSync("api", "untracked 0").remaining).toBe(0);
    expect(limiter.checkSync("api", "untracked 0").allowed).toBe(false);
    // While a reset of a tracked key makes room for another.
    limiter.resetSync("api", "tracked 0");
    limiter.resetSync("api", "tracked 1");
    expect(limiter.checkSync("api", "newcomer", { cost: 5 }).allowed).toBe(true);
  });

  it("makes room again when keys are full again", () => {
    const { limiter, clock } = boundedLimiter(limit);
    for (let i = 0; i < MAX_KEYS; i += 1) limiter.checkSync("api", `old ${i}`);
    limiter.penalizeSync("api", "old 7", { cost: 500 });
    for (let i = 0; i < 50; i += 1) limiter.checkSync("api", `untracked ${i}`);
    const { overflowed } = statsOf(limiter);
    clock.set(200_000);
    for (let i = 0; i < 10; i += 1) {
      clock.set(200_000 + i);
      limiter.peekSync("api", "old 7");
    }
    for (let i = 0; i < MAX_KEYS - 2; i += 1) {
      expect(limiter.checkSync("api", `new ${i}`, { cost: 5 }).allowed).toBe(true);
    }
    expect(statsOf(limiter).overflowed).toBe(overflowed);
    expect(statsOf(limiter).keys).toBeLessThanOrEqual(MAX_KEYS);
  });
});

describe("a full store", () => {
  it("gives a newcomer the place of a key that is full again, wherever that is", () => {
    // Each store has a secret of its own: the keys lie elsewhere each time.
    for (let attempt = 0; attempt < 40; attempt += 1) {
      const clock = new ManualClock();
      const limiter = rateLimiter({ api: gcra("5/s") }, { clock, maxKeys: 40 });
      for (let i = 0; i < 40; i += 1) limiter.checkSync("api", `old ${i}`);
      // All are full since 0.2 s, which is too short a time for them to have been swept.
      clock.set(400);
      for (let i = 0; i < 30; i += 1) expect(limiter.checkSync("api", `new ${i}`, { cost: 5 }).allowed).toBe(true);
      expect(statsOf(limiter).overflowed).toBe(0);
    }
  });

  it("bounds each rule for itself", () => {
    const limiter = rateLimiter({ one: gcra("5/m"), other: gcra("5/m") }, { clock: new ManualClock(), maxKeys: 10 });
    for (let i = 0; i < 50; i += 1) limiter.checkSync("one", `key ${i}`);
    for (let i = 0; i < 10; i += 1) limiter.checkSync("other", `key ${i}`);
    expect(limiter.store.stats).toMatchObject({ one: { overflowed: 40 }, other: { keys: 10, overflowed: 0 } });
  });

  it("for one key still keeps it apart from the rest", () => {
    const limiter = rateLimiter({ api: gcra("2/m") }, { clock: new ManualClock(), maxKeys: 1 });
    const admitted = ["a", "a", "a", "b", "c", "d"].map((key) => limiter.checkSync("api", key).allowed);
    expect(admitted).toEqual([true, true, false, true, true, false]);
  });
});

function boundedLimiter(limit: Limit): { limiter: MemoryLimiter<{ api: Limit }>; clock: ManualClock } {
  const clock = new ManualClock();
  return { limiter: rateLimiter({ api: limit }, { clock, maxKeys: MAX_KEYS }), clock };
}

function statsOf({ store }: { store: MemoryLimiter["store"] }): { keys: number; overflowed: number } {
  const { api } = store.stats;
  return api;
}
