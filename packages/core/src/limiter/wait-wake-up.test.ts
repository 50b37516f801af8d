import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { watch } from "../../test/limiter/watched-promise.ts";
import { fixedWindow, leakyBucket, rateLimiter, slidingWindowLog, tokenBucket } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

describe("a call to wait", () => {
  it.each(["refund", "reset"] as const)("ends as soon as %s makes room", async (action) => {
    const { limiter, clock } = testLimiter({ api: slidingWindowLog("1/h") });
    limiter.checkSync("api", "k");
    const waiting = watch(clock, limiter.wait("api", "k"));
    await clock.advance(1_000);
    expect(waiting.at).toBeUndefined();
    await limiter[action]("api", "k");
    await clock.advance(0);
    expect(waiting).toMatchObject({ at: 1_000, value: { allowed: true } });
  });

  it.each(["refundSync", "resetSync"] as const)("ends as soon as %s makes room", async (action) => {
    const { limiter, clock } = testLimiter({ api: slidingWindowLog("1/h") });
    limiter.checkSync("api", "k");
    const waiting = watch(clock, limiter.wait("api", "k"));
    await clock.advance(1_000);
    limiter[action]("api", "k");
    await clock.advance(0);
    expect(waiting.at).toBe(1_000);
  });

  it("ends as soon as setLimit makes room, for every key of the rule and for no other rule", async () => {
    const { limiter, clock } = testLimiter({ api: fixedWindow("1/h"), other: fixedWindow("1/h") });
    for (const rule of ["api", "other"] as const) for (const key of ["a", "b"]) limiter.checkSync(rule, key);
    const a = watch(clock, limiter.wait("api", "a"));
    const b = watch(clock, limiter.wait("api", "b"));
    const other = watch(clock, limiter.wait("other", "a"));
    await clock.advance(1_000);
    limiter.setLimit("api", fixedWindow("2/h"));
    await clock.advance(0);
    expect([a.at, b.at, other.at]).toEqual([1_000, 1_000, undefined]);
  });

  it("keeps waiting, in order, if the returned units are not enough", async () => {
    const { limiter, clock } = testLimiter({ api: tokenBucket("10/s") });
    limiter.checkSync("api", "k", { cost: 10 });
    const large = watch(clock, limiter.wait("api", "k", { cost: 5 }));
    const small = watch(clock, limiter.wait("api", "k"));
    await clock.advance(100);
    await limiter.refund("api", "k", { cost: 2 });
    await clock.advance(0);
    expect([large.at, small.at]).toEqual([undefined, undefined]);
    await clock.advance(1_000);
    expect([large.at, small.at]).toEqual([300, 400]);
  });

  it("wakes the next in the queue if the returned units are enough for several", async () => {
    const { limiter, clock } = testLimiter({ api: slidingWindowLog("3/h") });
    limiter.checkSync("api", "k", { cost: 3 });
    const waits = [1, 2, 3].map(() => watch(clock, limiter.wait("api", "k")));
    await clock.advance(1);
    await limiter.refund("api", "k", { cost: 2 });
    await clock.advance(0);
    expect(waits.map(({ at }) => at)).toEqual([1, 1, undefined]);
  });

  it("notices what is given back while the denial is still on its way", async () => {
    const clock = new ManualClock();
    const store = new SlowStore(clock, 100);
    const limiter = rateLimiter({ api: slidingWindowLog("1/h") }, { store, clock });
    watch(clock, limiter.check("api", "k"));
    await clock.advance(100);
    const waiting = watch(clock, limiter.wait("api", "k"));
    await clock.advance(10);
    store.travelMs = 1;
    const refund = watch(clock, limiter.refund("api", "k"));
    await clock.advance(100);
    expect([refund.at, waiting.at]).toEqual([111, 201]);
  });

  it("does not leave a leaky bucket's queue early when another call leaves it", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 3 }) });
    const sent = [1, 2].map(() => watch(clock, limiter.wait("mail", "k")));
    await clock.advance(0);
    limiter.refundSync("mail", "k");
    await clock.advance(999);
    expect(sent.map(({ at }) => at)).toEqual([0, undefined]);
    await clock.advance(1);
    expect(sent[1].at).toBe(1_000);
  });
});
