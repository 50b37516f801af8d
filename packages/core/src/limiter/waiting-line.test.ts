import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { watch } from "../../test/limiter/watched-promise.ts";
import { gcra, rateLimiter, tokenBucket } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

describe("calls that wait for one key", () => {
  it("are served in the order in which they came", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    const waits = Array.from({ length: 5 }, () => watch(clock, limiter.wait("api", "k")));
    await clock.advance(10_000);
    expect(waits.map(({ at }) => at)).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
  });

  it("are not overtaken by a call that asks for less", async () => {
    const { limiter, clock } = testLimiter({ api: tokenBucket("4/s") });
    limiter.checkSync("api", "k", { cost: 4 });
    const large = watch(clock, limiter.wait("api", "k", { cost: 4 }));
    const small = watch(clock, limiter.wait("api", "k", { cost: 1 }));
    await clock.advance(999);
    expect(small.at).toBeUndefined();
    await clock.advance(1_000);
    expect([large.at, small.at]).toEqual([1_000, 1_250]);
  });

  it("are let by when the one before them can never pass", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("2/s") });
    const never = watch(clock, limiter.wait("api", "k", { cost: 3 }));
    const next = watch(clock, limiter.wait("api", "k", { cost: 2 }));
    await clock.advance(0);
    expect(never.value?.allowed).toBe(false);
    expect(next.value?.allowed).toBe(true);
  });

  it("do not wait for those of other keys and rules", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/h"), site: gcra("1/h") });
    limiter.checkSync("api", "busy");
    const busy = watch(clock, limiter.wait("api", "busy"));
    const others = [
      watch(clock, limiter.wait("api", "idle")),
      watch(clock, limiter.wait("site", "busy")),
      // Joined by a colon these two would be one line.
      watch(clock, limiter.wait("api", "busy:")),
    ];
    await clock.advance(0);
    expect(others.map(({ value }) => value?.allowed)).toEqual([true, true, true]);
    expect(busy.at).toBeUndefined();
  });

  it("ask the store one at a time", async () => {
    const clock = new ManualClock();
    const store = new SlowStore(clock, 1);
    const limiter = rateLimiter({ api: gcra("1/s") }, { store, clock });
    const waits = Array.from({ length: 50 }, () => limiter.wait("api", "k"));
    await clock.advance(900);
    // The first was admitted, the second got a time to retry; the others have not asked.
    expect(store.calls).toHaveLength(2);
    await clock.advance(100_000);
    expect((await Promise.all(waits)).every(({ allowed }) => allowed)).toBe(true);
  });

  it("leave no line behind when all are served", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    for (let round = 0; round < 3; round += 1) {
      const waits = [1, 2, 3].map(() => watch(clock, limiter.wait("api", "k")));
      await clock.advance(5_000);
      expect(waits.every(({ value }) => value?.allowed)).toBe(true);
    }
  });
});
