import { describe, expect, it } from "vitest";
import { kinds } from "../../test/limiter/kinds.ts";
import { gcra, tokenBucket } from "../index.ts";
import { testLimiter } from "../testing/index.ts";

describe.each(kinds)("under a %s", (_name, make) => {
  it("peek says what a check would, and takes nothing", () => {
    const { limiter } = testLimiter({ api: make("5/m") });
    limiter.checkSync("api", "k", { cost: 3 });
    for (const cost of [0, 1, 2, 3, 5, 6]) {
      const peeked = limiter.peekSync("api", "k", { cost });
      expect(peeked).toMatchObject({ allowed: cost <= 2, remaining: 2, cost });
      expect(peeked.deniedBy).toEqual(cost <= 2 ? [] : ["api"]);
    }
    expect(limiter.checkSync("api", "k", { cost: 2 }).allowed).toBe(true);
  });

  it("refund returns what was taken and no more", () => {
    const { limiter } = testLimiter({ api: make("5/m") });
    limiter.checkSync("api", "k", { cost: 5 });
    expect(limiter.refundSync("api", "k")).toMatchObject({ remaining: 1, allowed: true });
    expect(limiter.refundSync("api", "k", { cost: 2 })).toMatchObject({ remaining: 3 });
    expect(limiter.refundSync("api", "k", { cost: 100 })).toMatchObject({ remaining: 5, resetAfterMs: 0 });
    expect(limiter.refundSync("api", "stranger", { cost: 100 })).toMatchObject({ remaining: 5 });
    expect(limiter.checkSync("api", "stranger", { cost: 6 }).allowed).toBe(false);
  });

  it("refund of 0 changes nothing", () => {
    const { limiter } = testLimiter({ api: make("5/m") });
    limiter.checkSync("api", "k", { cost: 5 });
    expect(limiter.refundSync("api", "k", { cost: 0 }).remaining).toBe(0);
  });

  it("penalize takes what is not there, too", () => {
    const { limiter } = testLimiter({ api: make("5/m") });
    expect(limiter.penalizeSync("api", "k", { cost: 3 })).toMatchObject({ allowed: true, remaining: 2 });
    expect(limiter.penalizeSync("api", "k", { cost: 3 })).toMatchObject({ allowed: false, remaining: 0 });
    expect(limiter.refundSync("api", "k")).toMatchObject({ allowed: false, remaining: 0 });
    expect(limiter.refundSync("api", "k")).toMatchObject({ allowed: true, remaining: 1 });
  });

  it("reset forgets everything of a key, and of that key alone", () => {
    const { limiter } = testLimiter({ api: make("5/m"), other: make("5/m") });
    for (const key of ["k", "l"]) {
      limiter.penalizeSync("api", key, { cost: 50 });
      limiter.checkSync("other", key, { cost: 4 });
    }
    expect(limiter.resetSync("api", "k")).toMatchObject({ allowed: true, remaining: 5, resetAfterMs: 0 });
    expect(limiter.peekSync("api", "l").remaining).toBe(0);
    expect(limiter.peekSync("other", "k").remaining).toBe(1);
  });
});

describe("the decision of an adjustment", () => {
  it("reports the state of the key for a request of cost 1", () => {
    const { limiter } = testLimiter({ api: gcra("10/s", { burst: 5 }) });
    expect(limiter.penalizeSync("api", "k", { cost: 7 })).toMatchObject({
      allowed: false,
      remaining: 0,
      // 7 and 1 more are 3 over the burst of 5.
      retryAfterMs: 300,
      resetAfterMs: 700,
      deniedBy: ["api"],
    });
  });

  it("returns to a bucket only what has not refilled by itself", async () => {
    const { limiter, clock } = testLimiter({ api: tokenBucket("10/s") });
    limiter.checkSync("api", "k", { cost: 10 });
    await clock.advance(800);
    expect(limiter.peekSync("api", "k").remaining).toBe(8);
    expect(limiter.refundSync("api", "k", { cost: 10 }).remaining).toBe(10);
    expect(limiter.checkSync("api", "k", { cost: 10 }).allowed).toBe(true);
    expect(limiter.checkSync("api", "k").allowed).toBe(false);
  });
});
