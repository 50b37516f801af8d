import { afterEach, describe, expect, it, vi } from "vitest";
import { algorithmOf } from "../../algorithms/lookup.ts";
import {
  bucketedWindow,
  fixedWindow,
  gcra,
  leakyBucket,
  slidingWindow,
  slidingWindowLog,
  tokenBucket,
} from "../../algorithms/registry.ts";
import type { Limit } from "../../limits/limit.ts";
import { rateLimiter } from "../../rate-limiter.ts";
import { ManualClock, testLimiter } from "../../testing/index.ts";

const kinds: [string, Limit][] = [
  ["token_bucket", tokenBucket("10/s")],
  ["leaky_bucket", leakyBucket("10/s")],
  ["gcra", gcra("10/s")],
  ["fixed_window", fixedWindow("10/s")],
  ["sliding_window_counter", slidingWindow("10/s")],
  ["sliding_window_log", slidingWindowLog("10/s")],
  ["bucketed_window", bucketedWindow("10/s")],
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(kinds)("idle keys of a %s", (_name, limit) => {
  it("disappear as work comes in", () => {
    const { limiter, clock } = testLimiter({ api: limit });
    for (let i = 0; i < 5_000; i += 1) limiter.checkSync("api", `idle ${i}`);
    expect(keysOf(limiter)).toBe(5_000);
    clock.set(10_000);
    expect(keysOf(limiter)).toBe(5_000);
    work(limiter, clock, 100);
    expect(keysOf(limiter)).toBe(1);
  });

  it("disappear by new keys alone, though time stands still", () => {
    const { limiter, clock } = testLimiter({ api: limit });
    for (let i = 0; i < 1_000; i += 1) limiter.checkSync("api", `idle ${i}`);
    clock.set(10_000);
    for (let i = 0; i < 1_000; i += 1) limiter.checkSync("api", `new ${i}`);
    expect(keysOf(limiter)).toBe(1_000);
  });

  it("stay as long as they are limited", () => {
    const { limiter, clock } = testLimiter({ api: limit });
    for (let i = 0; i < 500; i += 1) limiter.penalizeSync("api", `limited ${i}`, { cost: 30 });
    const { retryAfterMs } = limiter.peekSync("api", "limited 0");
    clock.set(retryAfterMs - 101);
    work(limiter, clock, 100);
    expect(keysOf(limiter)).toBe(501);
    for (let i = 0; i < 500; i += 1) expect(limiter.peekSync("api", `limited ${i}`).allowed).toBe(false);
  });

  it("stay where sweeping is turned off", () => {
    const clock = new ManualClock();
    const limiter = rateLimiter({ api: limit }, { clock, sweep: false });
    for (let i = 0; i < 500; i += 1) limiter.checkSync("api", `idle ${i}`);
    clock.set(1_000_000);
    work(limiter, clock, 500);
    expect(keysOf(limiter)).toBe(501);
  });
});

/** Ten units in ten seconds, so that rows are swept within half a minute. */
const slow: [string, Limit][] = [
  ["token_bucket", tokenBucket("10/10s")],
  ["leaky_bucket", leakyBucket("10/10s")],
  ["gcra", gcra("10/10s")],
  ["fixed_window", fixedWindow("10/10s")],
  ["fixed_window by the request", fixedWindow("10/10s", { anchor: "request" })],
  ["sliding_window_counter", slidingWindow("10/10s")],
  ["sliding_window_log", slidingWindowLog("10/10s")],
  ["bucketed_window", bucketedWindow("10/10s")],
];

describe.each(slow)("a clock that is set back after a sweep: %s", (_name, limit) => {
  const EARLY = 100_000;
  const LATE = 130_000;

  /** Takes all that one key can get at the early time, then lets it be swept at the late one, which moves on. */
  function flap(clock: ManualClock, limiter: TestedLimiter, times = 0): number {
    let admitted = 0;
    clock.set(EARLY);
    while (limiter.checkSync("api", "k").allowed) admitted += 1;
    clock.set(LATE + 60 * times);
    for (let i = 0; i < 10; i += 1) limiter.checkSync("api", `other ${i}`);
    return admitted;
  }

  it("mints no quota, however often it is set back", () => {
    const { limiter, clock } = testLimiter({ api: limit });
    let admitted = 0;
    for (let i = 0; i < 50; i += 1) admitted += flap(clock, limiter, i);
    // The burst, and what 33 seconds are worth.
    expect(admitted).toBeLessThanOrEqual(43);
  });

  it("is included in the wait of a denial", async () => {
    const { limiter, clock } = testLimiter({ api: limit });
    flap(clock, limiter);
    clock.set(EARLY);
    while (limiter.checkSync("api", "k").allowed);
    const { retryAfterMs } = limiter.peekSync("api", "k");
    await clock.advance(retryAfterMs - 0.001);
    expect(limiter.peekSync("api", "k").allowed).toBe(false);
    await clock.advance(0.001);
    expect(limiter.checkAllSync([{ rule: "api", key: "k" }]).allowed).toBe(true);
  });
});

describe("one check", () => {
  it.each(kinds)("looks at a few rows only, however many keys there are (%s)", (_name, limit) => {
    const { limiter, clock } = testLimiter({ api: limit });
    // Each row that is looked at, to be swept or moved, is asked when it will be blank.
    const looks = vi.spyOn(algorithmOf(limit), "blankFrom");
    let most = 0;
    const check = (key: string): void => {
      looks.mockClear();
      limiter.checkSync("api", key);
      most = Math.max(most, looks.mock.calls.length);
    };
    for (let i = 0; i < 20_000; i += 1) check(`key ${i}`);
    clock.set(100_000);
    for (let i = 0; i < 500; i += 1) {
      clock.set(100_000 + i);
      check(`later ${i}`);
    }
    expect(keysOf(limiter)).toBeLessThan(1_000);
    expect(most).toBeGreaterThan(10);
    expect(most).toBeLessThan(1_500);
  });
});

describe("a small table", () => {
  it("is looked through some twenty times a second, however many requests come", () => {
    const { limiter, clock } = testLimiter({ api: gcra("10/d") });
    for (let i = 0; i < 99; i += 1) limiter.checkSync("api", `limited ${i}`);
    work(limiter, clock, 100);
    const looks = vi.spyOn(algorithmOf(gcra("1/s")), "blankFrom");
    work(limiter, clock, 1_000);
    expect(looks.mock.calls.length / 100).toBeGreaterThan(15);
    expect(looks.mock.calls.length / 100).toBeLessThan(35);
  });
});

type TestedLimiter = ReturnType<typeof testLimiter<{ api: Limit }>>["limiter"];

interface SweptLimiter {
  readonly store: { readonly stats: Readonly<Record<string, { readonly keys: number }>> };
  checkSync(rule: "api", key: string): unknown;
}

function keysOf(limiter: SweptLimiter): number {
  const { api } = limiter.store.stats;
  return api.keys;
}

/** One request each millisecond, of a key that is always there. */
function work(limiter: SweptLimiter, clock: ManualClock, milliseconds: number): void {
  for (let i = 0; i < milliseconds; i += 1) {
    clock.set(clock.now() / 1000 + 1);
    limiter.checkSync("api", "busy");
  }
}
