import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { kinds } from "../../test/limiter/kinds.ts";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { watch } from "../../test/limiter/watched-promise.ts";
import { gcra, leakyBucket, rateLimiter, slidingWindowLog, tokenBucket } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

// A time of today, not on a round millisecond: where milliseconds as doubles lose the microseconds.
const TODAY_MS = 1_700_000_000_000.331;

describe("wait", () => {
  it("is over at once when there is room", async () => {
    const { limiter } = testLimiter({ api: gcra("2/s") });
    expect(await limiter.wait("api", "k", { cost: 2 })).toMatchObject({ allowed: true, cost: 2, remaining: 0 });
  });

  it.each(kinds.filter(([name]) => name !== "leaky_bucket"))(
    "is admitted exactly at the time given by the denial (%s)",
    async (_name, make) => {
      const { limiter, clock } = testLimiter({ api: make("3/s") }, { startMs: TODAY_MS });
      limiter.checkSync("api", "k", { cost: 3 });
      const { retryAfterMs } = limiter.peekSync("api", "k", { cost: 2 });
      const waiting = watch(clock, limiter.wait("api", "k", { cost: 2 }));
      await clock.advance(retryAfterMs - 0.001);
      expect(waiting.at).toBeUndefined();
      await clock.advance(0.001);
      expect(waiting.value).toMatchObject({ allowed: true, cost: 2 });
    },
  );

  it("asks again if another request took the units first", async () => {
    const { limiter, clock } = testLimiter({ api: tokenBucket("1/s") });
    limiter.checkSync("api", "k");
    const waiting = watch(clock, limiter.wait("api", "k"));
    await clock.advance(999);
    limiter.penalizeSync("api", "k");
    await clock.advance(1);
    expect(waiting.at).toBeUndefined();
    await clock.advance(1_000);
    expect(waiting.at).toBe(2_000);
  });

  it("takes part in a refund, when it asks again", async () => {
    const { limiter, clock } = testLimiter({ api: slidingWindowLog("1/m") });
    limiter.checkSync("api", "k");
    const first = watch(clock, limiter.wait("api", "k"));
    await clock.advance(60_000);
    expect(first.at).toBe(60_000);
  });

  it("answers the denial at once to a cost that can never pass", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("3/s") });
    const waiting = watch(clock, limiter.wait("api", "k", { cost: 4 }));
    await clock.advance(0);
    expect(waiting.value).toMatchObject({ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY, deniedBy: ["api"] });
    expect(limiter.peekSync("api", "k").remaining).toBe(3);
  });

  it("waits for the delay of a leaky bucket, so that a loop is shaped to a constant rate", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("10/s", { burst: 3 }) }, { startMs: TODAY_MS });
    const waits = Array.from({ length: 6 }, () => watch(clock, limiter.wait("mail", "k")));
    await clock.advance(10_000);
    const start = TODAY_MS * 1000;
    expect(waits.map(({ at = 0 }) => Math.round(at * 1000 - start))).toEqual([
      0, 100_000, 200_000, 300_000, 400_000, 500_000,
    ]);
  });

  it("works over a store that answers by promises", async () => {
    const clock = new ManualClock();
    const limiter = rateLimiter({ api: gcra("1/s") }, { store: new SlowStore(clock, 5), clock });
    const waits = [1, 2, 3].map(() => watch(clock, limiter.wait("api", "k")));
    await clock.advance(10_000);
    expect(waits.map(({ value }) => value?.allowed)).toEqual([true, true, true]);
    expect((await limiterRemaining(limiter, clock)).allowed).toBe(true);
  });

  it("rejects with the error of a store that fails, and wakes the next in the queue", async () => {
    const clock = new ManualClock();
    const store = new SlowStore(clock);
    const limiter = rateLimiter({ api: gcra("1/s") }, { store, clock });
    await limiter.check("api", "k");
    const first = watch(clock, limiter.wait("api", "k"));
    const second = watch(clock, limiter.wait("api", "k"));
    await clock.advance(500);
    store.failure = new Error("gone");
    await clock.advance(500);
    expect(first.error).toBe(store.failure);
    expect(second.error).toBe(store.failure);
    store.failure = undefined;
    expect((await limiter.wait("api", "k")).allowed).toBe(true);
  });

  it("leaves nothing behind on the signal", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s"), mail: leakyBucket("1/s", { burst: 3 }) });
    const { signal } = new AbortController();
    const waits = [
      limiter.wait("api", "k", { signal }),
      limiter.wait("api", "k", { signal }),
      limiter.wait("api", "k", { signal, maxWaitMs: 10 }),
      limiter.wait("mail", "k", { signal }),
      limiter.wait("mail", "k", { signal }),
      limiter.wait("api", "k", { signal, cost: 2 }),
    ];
    await clock.advance(10_000);
    await Promise.all(waits);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

async function limiterRemaining(
  limiter: { wait(rule: "api", key: string): Promise<{ allowed: boolean }> },
  clock: ManualClock,
): Promise<{ allowed: boolean }> {
  const waiting = limiter.wait("api", "k");
  await clock.advance(10_000);
  return waiting;
}
