import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { type Check, gcra, HeadgateError, rateLimiter, slidingWindowLog } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const rules = { api: gcra("3/s"), login: slidingWindowLog("2/m") };

describe("checkMany", () => {
  it("decides each check by itself, in the order given", async () => {
    const { limiter } = testLimiter(rules);
    const decisions = await limiter.checkMany([
      { rule: "api", key: "ann", cost: 2 },
      { rule: "login", key: "ann" },
      { rule: "api", key: "ann", cost: 2 },
      { rule: "api", key: "ann" },
      { rule: "login", key: "ann" },
      { rule: "login", key: "ann" },
      { rule: "api", key: "bob", cost: 3 },
    ]);
    expect(decisions.map(({ rule, cost, allowed, remaining }) => [rule, cost, allowed, remaining])).toEqual([
      ["api", 2, true, 1],
      ["login", 1, true, 1],
      ["api", 2, false, 1],
      ["api", 1, true, 0],
      ["login", 1, true, 0],
      ["login", 1, false, 0],
      ["api", 3, true, 0],
    ]);
  });

  it.each([
    ["memory", (clock: ManualClock) => rateLimiter(rules, { clock })],
    ["another store", (clock: ManualClock) => rateLimiter(rules, { store: new SlowStore(clock), clock })],
  ])("takes many keys under one rule, in %s", async (_where, make) => {
    const limiter = make(new ManualClock());
    const decisions = await limiter.checkMany("login", ["ann", "bob", "ann", "ann"]);
    expect(decisions.map(({ rule, allowed, remaining }) => [rule, allowed, remaining])).toEqual([
      ["login", true, 1],
      ["login", true, 1],
      ["login", true, 0],
      ["login", false, 0],
    ]);
    expect((await limiter.checkMany("api", ["ann", "bob"], { cost: 2 })).map((d) => d.remaining)).toEqual([1, 1]);
    expect(await limiter.checkMany("api", [])).toEqual([]);
  });

  it.each<[unknown[], string, string]>([
    [["api", ["ann", 7]], "HG_BAD_KEY", "keys[1]"],
    [["api", "ann"], "HG_BAD_CHECKS", "keys"],
    [["api"], "HG_BAD_CHECKS", "keys"],
    [["apy", ["ann"]], "HG_UNKNOWN_RULE", "rule"],
    [["apy", []], "HG_UNKNOWN_RULE", "rule"],
    [["api", ["ann"], { cost: -1 }], "HG_BAD_COST", "cost"],
    [["api", ["ann"], { costs: 2 }], "HG_BAD_OPTION", "options.costs"],
  ])("refuses %j and charges nothing", async (given, code, field) => {
    const clock = new ManualClock();
    const memory = rateLimiter(rules, { clock });
    const shared = rateLimiter(rules, { store: new SlowStore(clock), clock });
    const [rule, keys, options] = given as [never, never, never];
    await expect(memory.checkMany(rule, keys, options)).rejects.toMatchObject({ code, field });
    await expect(shared.checkMany(rule, keys, options)).rejects.toMatchObject({ code, field });
    expect(memory.peekSync("api", "ann").remaining).toBe(3);
    expect((await shared.peek("api", "ann")).remaining).toBe(3);
  });

  it("answers nothing to nothing", async () => {
    const { limiter } = testLimiter(rules);
    expect(limiter.checkManySync([])).toEqual([]);
    expect(await limiter.checkMany([])).toEqual([]);
  });

  it.each<[string, Partial<Record<keyof Check, unknown>>, string, string]>([
    ["cost", { rule: "api", key: "ann", cost: Number.NaN }, "HG_BAD_COST", "cost"],
    ["key", { rule: "api", key: 7 }, "HG_BAD_KEY", "key"],
    ["rule", { rule: "apy", key: "ann" }, "HG_UNKNOWN_RULE", "rule"],
  ])("charges nothing at all if the last check has a bad %s", async (_what, bad, code, field) => {
    const clock = new ManualClock();
    const good: Check<"api"> = { rule: "api", key: "ann" };
    const checks = [good, good, bad as unknown as Check<"api">];
    const memory = rateLimiter(rules, { clock });
    const shared = rateLimiter(rules, { store: new SlowStore(clock), clock });
    const problem = expect.objectContaining({ code, field: expect.stringContaining(field) });
    expect(() => memory.checkManySync(checks)).toThrow(problem);
    await expect(memory.checkMany(checks)).rejects.toThrow(HeadgateError);
    await expect(shared.checkMany(checks)).rejects.toEqual(problem);
    expect(memory.peekSync("api", "ann").remaining).toBe(3);
    expect((await shared.peek("api", "ann")).remaining).toBe(3);
  });
});
