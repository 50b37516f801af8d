import { describe, expect, it } from "vitest";
import { gcra, leakyBucket, tokenBucket } from "../index.ts";
import { testLimiter } from "../testing/index.ts";

describe("a leaky bucket's decision", () => {
  it("reports the place in the queue, and how long to stay there", () => {
    const { limiter } = testLimiter({ mail: leakyBucket("10/s", { burst: 5 }) });
    const places = Array.from({ length: 7 }, () => limiter.checkSync("mail", "k"));
    expect(places.map(({ allowed, queuePosition, delayMs }) => [allowed, queuePosition, delayMs])).toEqual([
      [true, 1, 0],
      [true, 2, 100],
      [true, 3, 200],
      [true, 4, 300],
      [true, 5, 400],
      [false, 0, 0],
      [false, 0, 0],
    ]);
  });

  it("takes one place per unit of cost, and waits for those ahead", () => {
    const { limiter } = testLimiter({ mail: leakyBucket("10/s", { burst: 10 }) });
    expect(limiter.checkSync("mail", "k", { cost: 4 })).toMatchObject({ queuePosition: 4, delayMs: 0 });
    expect(limiter.checkSync("mail", "k", { cost: 3 })).toMatchObject({ queuePosition: 7, delayMs: 400 });
  });

  it("has less to wait for as the queue drains", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("10/s", { burst: 5 }) });
    limiter.checkSync("mail", "k", { cost: 2 });
    await clock.advance(150);
    expect(limiter.checkSync("mail", "k")).toMatchObject({ queuePosition: 1.5, delayMs: 50 });
    await clock.advance(1_000);
    expect(limiter.checkSync("mail", "k")).toMatchObject({ queuePosition: 1, delayMs: 0 });
  });

  it("is 0 for other limits", () => {
    const { limiter } = testLimiter({ api: gcra("10/s"), file: tokenBucket("10/s") });
    for (const rule of ["api", "file"] as const) {
      expect(limiter.checkSync(rule, "k", { cost: 5 })).toMatchObject({ queuePosition: 0, delayMs: 0 });
    }
  });
});

describe("the delays of a leaky bucket", () => {
  // At every place within the tenth of a second that one request takes: where a fraction would slip.
  it("let requests out at least one interval apart, to the microsecond, whenever they come", () => {
    const { limiter, clock } = testLimiter(
      { mail: leakyBucket("10/s", { burst: 50 }) },
      { startMs: 1_700_000_000_000 },
    );
    let latest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < 2_000; i += 1) {
      clock.set((clock.now() + ((i * 7_919) % 99_991)) / 1000);
      const { allowed, delayMs } = limiter.checkSync("mail", "k");
      if (!allowed) continue;
      const leaves = clock.now() + delayMs * 1000;
      expect(Math.abs(leaves - Math.round(leaves))).toBeLessThan(0.3);
      expect(Math.round(leaves) - latest).toBeGreaterThanOrEqual(100_000);
      latest = Math.round(leaves);
    }
  });
});
