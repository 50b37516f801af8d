import { describe, expect, it } from "vitest";
import { watch } from "../../test/limiter/watched-promise.ts";
import { gcra, leakyBucket, tokenBucket } from "../index.ts";
import { testLimiter } from "../testing/index.ts";

describe("a wait of at most maxWaitMs", () => {
  it("is a denial at once if it would take longer", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    limiter.checkSync("api", "k");
    const waiting = watch(clock, limiter.wait("api", "k", { maxWaitMs: 999.999 }));
    await clock.advance(0);
    expect(waiting).toMatchObject({ at: 0, value: { allowed: false, retryAfterMs: 1_000 } });
  });

  it("of 0 ms is a check", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    expect((await limiter.wait("api", "k", { maxWaitMs: 0 })).allowed).toBe(true);
    const waiting = watch(clock, limiter.wait("api", "k", { maxWaitMs: 0 }));
    await clock.advance(0);
    expect(waiting.value).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
  });

  // Every microsecond of a millisecond, at a time of today: a deadline in milliseconds would lose some of them.
  it("is admitted if it takes exactly that long, whatever the time is", async () => {
    for (let microsecond = 0; microsecond < 1_000; microsecond += 37) {
      const { limiter, clock } = testLimiter({ api: gcra("3/s") }, { startMs: 1_700_000_000_000 + microsecond / 1000 });
      limiter.checkSync("api", "k", { cost: 3 });
      const { retryAfterMs } = limiter.peekSync("api", "k");
      const waiting = watch(clock, limiter.wait("api", "k", { maxWaitMs: retryAfterMs }));
      const short = watch(clock, limiter.wait("api", "l", { maxWaitMs: retryAfterMs }));
      await clock.advance(retryAfterMs);
      expect(waiting.value?.allowed).toBe(true);
      expect(short.value?.allowed).toBe(true);
    }
  });

  it("ends in the queue when the time is up, and the queue continues", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    limiter.checkSync("api", "k");
    const first = watch(clock, limiter.wait("api", "k"));
    const second = watch(clock, limiter.wait("api", "k", { maxWaitMs: 500 }));
    const third = watch(clock, limiter.wait("api", "k"));
    await clock.advance(499);
    expect(second.at).toBeUndefined();
    await clock.advance(1);
    expect(second).toMatchObject({ at: 500, value: { allowed: false } });
    await clock.advance(5_000);
    expect([first.at, third.at]).toEqual([1_000, 2_000]);
  });

  it("counts the time in line", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    limiter.checkSync("api", "k");
    const first = watch(clock, limiter.wait("api", "k"));
    const second = watch(clock, limiter.wait("api", "k", { maxWaitMs: 1_500 }));
    await clock.advance(5_000);
    expect(first.at).toBe(1_000);
    // It is its turn at 1000 ms; then it would be 1000 ms more, and only 500 are left.
    expect(second).toMatchObject({ at: 1_000, value: { allowed: false, retryAfterMs: 1_000 } });
  });

  it("does not overtake those before it in line when its time is up", async () => {
    const { limiter, clock } = testLimiter({ api: tokenBucket("4/s") });
    limiter.checkSync("api", "k", { cost: 4 });
    const large = watch(clock, limiter.wait("api", "k", { cost: 4 }));
    const small = watch(clock, limiter.wait("api", "k", { cost: 1, maxWaitMs: 500 }));
    await clock.advance(5_000);
    expect(small).toMatchObject({ at: 500, value: { allowed: false } });
    expect(large.at).toBe(1_000);
  });

  it("returns its place in a leaky bucket if the delay is longer", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 5 }) });
    limiter.checkSync("mail", "k", { cost: 3 });
    const waiting = watch(clock, limiter.wait("mail", "k", { maxWaitMs: 2_999 }));
    await clock.advance(0);
    expect(waiting).toMatchObject({
      at: 0,
      // In one millisecond the delay would be 2999 ms. The key is as if the call had never been made.
      value: { allowed: false, remaining: 2, retryAfterMs: 1, resetAfterMs: 3_000, deniedBy: ["mail"] },
    });
    expect(limiter.peekSync("mail", "k").remaining).toBe(2);
    const again = watch(clock, limiter.wait("mail", "k", { maxWaitMs: 3_000 }));
    await clock.advance(3_000);
    expect(again).toMatchObject({ at: 3_000, value: { allowed: true, delayMs: 3_000 } });
  });

  it.each([-1, Number.NaN, "100", null])("refuses %j, before anything is charged", async (maxWaitMs) => {
    const { limiter } = testLimiter({ api: gcra("2/s"), mail: leakyBucket("2/s") });
    const options = { maxWaitMs: maxWaitMs as number };
    const problem = expect.objectContaining({ code: "HG_BAD_OPTION", field: "maxWaitMs" });
    await expect(limiter.wait("api", "k", options)).rejects.toEqual(problem);
    await expect(limiter.schedule("mail", "k", () => 1, options)).rejects.toEqual(problem);
    expect(limiter.peekSync("api", "k").remaining).toBe(2);
    expect(limiter.peekSync("mail", "k").remaining).toBe(2);
  });
});
