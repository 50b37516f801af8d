import { describe, expect, it } from "vitest";
import { kinds } from "../../test/limiter/kinds.ts";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { fixedWindow, leakyBucket, rateLimiter, tokenBucket } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

describe.each(kinds)("a limit given with a check on a %s", (_name, make) => {
  const own = make("20/h");

  it("decides for that check, on the same counter", () => {
    const { limiter } = testLimiter({ api: make("10/h") });
    limiter.checkSync("api", "k", { cost: 10 });
    expect(limiter.checkSync("api", "k")).toMatchObject({ allowed: false, limit: 10 });
    expect(limiter.checkSync("api", "k", { limit: own })).toMatchObject({ allowed: true, limit: 20, remaining: 9 });
    expect(limiter.checkSync("api", "k")).toMatchObject({ allowed: false, limit: 10 });
    expect(limiter.peekSync("api", "k", { limit: own }).explain()).toMatchObject({ limit: 20, used: 11 });
    expect(limiter.limitOf("api").limit).toBe(10);
  });

  it("does the same over a store that answers by promises", async () => {
    const clock = new ManualClock();
    const limiter = rateLimiter({ api: make("10/h") }, { store: new SlowStore(clock), clock });
    await limiter.check("api", "k", { cost: 10 });
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: false, limit: 10 });
    expect(await limiter.check("api", "k", { limit: own })).toMatchObject({ allowed: true, limit: 20, remaining: 9 });
  });

  it("goes with each check of several, and with batches", () => {
    const { limiter } = testLimiter({ api: make("10/h"), day: make("100/d") });
    const verdict = limiter.checkAllSync([
      { rule: "api", key: "k", cost: 12, limit: own },
      { rule: "day", key: "k" },
    ]);
    expect(verdict).toMatchObject({ allowed: true, rule: "api", limit: 20, remaining: 8 });
    const batch = limiter.checkManySync("api", ["k", "new"], { limit: own });
    expect(batch).toMatchObject([
      { allowed: true, limit: 20, remaining: 7 },
      { allowed: true, limit: 20, remaining: 19 },
    ]);
    expect(limiter.checkManySync([{ rule: "api", key: "k", limit: own }])).toMatchObject([{ remaining: 6 }]);
  });

  it("goes with corrections and waits", async () => {
    const { limiter } = testLimiter({ api: make("1/h") });
    await limiter.penalize("api", "k", { cost: 12, limit: own });
    expect(await limiter.refund("api", "k", { cost: 2, limit: own })).toMatchObject({ limit: 20, remaining: 10 });
    expect(await limiter.wait("api", "k", { limit: own, maxWaitMs: 0 })).toMatchObject({ limit: 20 });
  });
});

describe("a limit given with a check", () => {
  const { limiter } = testLimiter({ api: tokenBucket("10/m"), window: fixedWindow("10/m"), queue: leakyBucket("1/s") });

  it.each([
    ["another algorithm", "api", fixedWindow("20/m"), "algorithm of rule api (token_bucket), got fixed_window"],
    ["another window", "api", tokenBucket("20/h"), "window of rule api (60000000), got 3600000000"],
    [
      "another anchor",
      "window",
      fixedWindow("20/m", { anchor: "request" }),
      "anchor of rule window (clock), got request",
    ],
  ] as const)("is refused if it has %s, and nothing is charged", (_what, rule, limit, problem) => {
    const message = `limit: must have the ${problem}: only limit and burst may differ`;
    expect(() => limiter.checkSync(rule, "k", { limit })).toThrow(message);
    expect(limiter.peekSync(rule, "k").remaining).toBe(10);
  });

  it.each([undefined, "20/m", null, { limit: 20 }])("is refused if it is %j, unless it is left out", (limit) => {
    const check = () => limiter.checkSync("api", "other", { limit: limit as never });
    if (limit === undefined) expect(check().limit).toBe(10);
    else expect(check).toThrow(/^limit: must be a limit such as tokenBucket\("100\/m"\), got /);
  });

  it("names the check at fault among several", () => {
    const checks = [
      { rule: "api", key: "k" },
      { rule: "window", key: "k", limit: tokenBucket("10/m") },
    ] as const;
    expect(() => limiter.checkAllSync(checks)).toThrow("checks[1].limit: must have the algorithm of rule window");
  });

  it("sets the burst alone", () => {
    const decision = limiter.checkSync("api", "burst", { limit: tokenBucket("10/m", { burst: 50 }), cost: 30 });
    expect(decision).toMatchObject({ allowed: true, limit: 10, remaining: 20 });
  });

  it("paces a queue", async () => {
    const decision = await limiter.check("queue", "k", { limit: leakyBucket("10/s"), cost: 5 });
    expect(decision).toMatchObject({ queuePosition: 5 });
    const next = await limiter.check("queue", "k", { limit: leakyBucket("10/s") });
    expect(next.delayMs).toBe(500);
  });
});
