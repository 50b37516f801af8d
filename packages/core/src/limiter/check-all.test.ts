import { describe, expect, it } from "vitest";
import { gcra, slidingWindow, tokenBucket } from "../index.ts";
import { testLimiter } from "../testing/index.ts";

const rules = { second: gcra("2/s"), minute: slidingWindow("10/m"), day: tokenBucket("100/d") };

describe("checkAll", () => {
  it("charges every limit when all have room, and shows the tightest", async () => {
    const { limiter } = testLimiter(rules);
    const verdict = await limiter.checkAll([
      { rule: "day", key: "ann" },
      { rule: "second", key: "ann" },
      { rule: "minute", key: "ann", cost: 4 },
    ]);
    expect(verdict).toMatchObject({
      allowed: true,
      rule: "second",
      limit: 2,
      remaining: 1,
      retryAfterMs: 0,
      resetAfterMs: 500,
      source: "store",
      degraded: false,
      deniedBy: [],
    });
    expect(verdict.decisions.map(({ rule, cost, remaining }) => [rule, cost, remaining])).toEqual([
      ["day", 1, 99],
      ["second", 1, 1],
      ["minute", 4, 6],
    ]);
  });

  it("charges none when one refuses, and names it", () => {
    const { limiter } = testLimiter(rules);
    const checks = [
      { rule: "day", key: "ann" },
      { rule: "second", key: "ann", cost: 2 },
    ] as const;
    expect(limiter.checkAllSync(checks).allowed).toBe(true);
    const verdict = limiter.checkAllSync(checks);
    expect(verdict).toMatchObject({
      allowed: false,
      rule: "second",
      limit: 2,
      retryAfterMs: 1_000,
      deniedBy: ["second"],
    });
    expect(verdict.decisions.map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(limiter.peekSync("day", "ann").remaining).toBe(99);
  });

  it("names all that refused, in the order asked, and shows the one with the longest wait", () => {
    const { limiter } = testLimiter(rules);
    limiter.penalizeSync("second", "ann", { cost: 2 });
    limiter.penalizeSync("day", "ann", { cost: 100 });
    const verdict = limiter.checkAllSync([
      { rule: "second", key: "ann" },
      { rule: "minute", key: "ann" },
      { rule: "day", key: "ann" },
    ]);
    expect(verdict.deniedBy).toEqual(["second", "day"]);
    expect(verdict).toMatchObject({ rule: "day", limit: 100, remaining: 0, retryAfterMs: 864_000 });
    expect(verdict.retryAfterMs).toBe(Math.max(...verdict.decisions.map(({ retryAfterMs }) => retryAfterMs)));
    // And then it does pass.
    expect(limiter.peekSync("minute", "ann").remaining).toBe(10);
  });

  it("shows a limit that can never pass before one that will", () => {
    const { limiter } = testLimiter(rules);
    limiter.penalizeSync("day", "ann", { cost: 100 });
    const verdict = limiter.checkAllSync([
      { rule: "second", key: "ann", cost: 3 },
      { rule: "day", key: "ann" },
    ]);
    expect(verdict).toMatchObject({ rule: "second", retryAfterMs: Number.POSITIVE_INFINITY });
  });

  it("passes at the time of its retry-after", async () => {
    const { limiter, clock } = testLimiter(rules);
    const checks = [
      { rule: "second", key: "ann" },
      { rule: "minute", key: "ann" },
      { rule: "day", key: "ann" },
    ] as const;
    for (let i = 0; i < 200; i += 1) {
      const verdict = limiter.checkAllSync(checks);
      if (verdict.allowed) continue;
      await clock.advance(verdict.retryAfterMs - 0.001);
      expect(limiter.checkAllSync(checks).allowed).toBe(false);
      await clock.advance(0.001);
      expect(limiter.checkAllSync(checks).allowed).toBe(true);
    }
  });

  it("takes several keys of one rule, and one limit alone", () => {
    const { limiter } = testLimiter(rules);
    const verdict = limiter.checkAllSync([
      { rule: "second", key: "ann", cost: 2 },
      { rule: "second", key: "10.0.0.1" },
    ]);
    expect(verdict.decisions.map(({ remaining }) => remaining)).toEqual([0, 1]);
    expect(limiter.checkAllSync([{ rule: "minute", key: "ann" }])).toMatchObject({ allowed: true, remaining: 9 });
  });

  it("explains by the limit that decided", () => {
    const { limiter } = testLimiter(rules);
    limiter.penalizeSync("second", "ann", { cost: 2 });
    const explanation = limiter
      .checkAllSync([
        { rule: "day", key: "ann" },
        { rule: "second", key: "ann" },
      ])
      .explain();
    expect(explanation).toMatchObject({ rule: "second", algorithm: "gcra", allowed: false, passesInMs: 500 });
    expect(String(explanation)).toMatch(/^second \(gcra, 2 per 1 s\); denied/);
  });
});
