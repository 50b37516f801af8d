import { describe, expect, it } from "vitest";
import { kinds } from "../../test/limiter/kinds.ts";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { watch } from "../../test/limiter/watched-promise.ts";
import { gcra, leakyBucket, rateLimiter, slidingWindowLog } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

describe.each(kinds)("setLimit on a %s", (_name, make) => {
  it("is in force from the next request on, and what was used stays used", () => {
    const { limiter } = testLimiter({ api: make("10/h") });
    limiter.checkSync("api", "k", { cost: 6 });
    limiter.setLimit("api", make("4/h"));
    expect(limiter.checkSync("api", "k")).toMatchObject({ allowed: false, limit: 4, remaining: 0 });
    limiter.setLimit("api", make("8/h"));
    expect(limiter.checkSync("api", "k")).toMatchObject({ allowed: true, limit: 8, remaining: 1 });
    expect(limiter.peekSync("api", "k").explain()).toMatchObject({ limit: 8, used: 7 });
  });

  it("never makes a raised limit deny what the old one allowed", () => {
    const { limiter, clock } = testLimiter({ api: make("10/h") }, { startMs: Date.UTC(2026, 0, 1) });
    for (let i = 0; i < 50; i += 1) {
      clock.set(clock.now() / 1000 + 97_000);
      const { allowed } = limiter.peekSync("api", "k");
      limiter.setLimit("api", make(`${11 + i}/h`));
      if (allowed) expect(limiter.checkSync("api", "k").allowed).toBe(true);
    }
  });

  it("is in force over a store that answers by promises, too", async () => {
    const clock = new ManualClock();
    const limiter = rateLimiter({ api: make("10/h") }, { store: new SlowStore(clock), clock });
    await limiter.check("api", "k", { cost: 6 });
    limiter.setLimit("api", make("4/h"));
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: false, limit: 4 });
  });
});

describe("setLimit", () => {
  it("starts from zero with another algorithm", () => {
    const { limiter } = testLimiter({ api: gcra("2/h") });
    limiter.checkSync("api", "k", { cost: 2 });
    limiter.setLimit("api", slidingWindowLog("3/h"));
    expect(limiter.checkSync("api", "k", { cost: 3 })).toMatchObject({ allowed: true, limit: 3 });
    expect(limiter.checkSync("api", "k").explain().algorithm).toBe("sliding_window_log");
  });

  it("leaves the other rules, and keys, as they are", () => {
    const { limiter } = testLimiter({ api: gcra("2/h"), site: gcra("2/h") });
    limiter.checkSync("site", "k");
    limiter.setLimit("api", gcra("9/h"));
    expect(limiter.checkSync("site", "k")).toMatchObject({ allowed: true, limit: 2, remaining: 0 });
    expect(limiter.checkSync("api", "k")).toMatchObject({ limit: 9, remaining: 8 });
  });

  it("does not change a decision that was made before", () => {
    const { limiter } = testLimiter({ mail: leakyBucket("10/s", { burst: 5 }) });
    limiter.checkSync("mail", "k");
    const decision = limiter.checkSync("mail", "k");
    limiter.setLimit("mail", leakyBucket("1/s"));
    expect(decision).toMatchObject({ limit: 10, delayMs: 100 });
    expect(decision.explain().limit).toBe(10);
  });

  it("applies the new limit to waiting calls when they ask again", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/h") });
    limiter.checkSync("api", "k");
    const waiting = watch(clock, limiter.wait("api", "k"));
    await clock.advance(1_000);
    limiter.setLimit("api", gcra("1/s"));
    expect(limiter.checkSync("api", "k").allowed).toBe(true);
    await clock.advance(3_600_000);
    expect(waiting.value).toMatchObject({ allowed: true, limit: 1 });
  });

  it.each([
    undefined,
    null,
    "100/m",
    5,
    {},
    { capacity: 10, refill_rate: 1 },
    { algorithm: "gcra", limit: 1, window: 1 },
  ])("refuses what is not a limit: %j", (limit) => {
    const { limiter } = testLimiter({ api: gcra("2/h") });
    const problem = expect.objectContaining({ code: "HG_BAD_RULES", field: "rules.api" });
    expect(() => limiter.setLimit("api", limit as never)).toThrow(problem);
    expect(limiter.checkSync("api", "k")).toMatchObject({ limit: 2, remaining: 1 });
  });

  it("refuses a rule that is not there", () => {
    const { limiter } = testLimiter({ api: gcra("2/h") });
    const problem = expect.objectContaining({ code: "HG_UNKNOWN_RULE", field: "rule" });
    expect(() => limiter.setLimit("apy" as "api", gcra("1/s"))).toThrow(problem);
  });
});
