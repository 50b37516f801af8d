import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { type Check, gcra, HeadgateError, type Limiter, leakyBucket, rateLimiter, tokenBucket } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const rules = { api: gcra("5/m"), mail: leakyBucket("5/m") };
const badCosts = each([Number.NaN, -1, 1.5, 2 ** 53, Number.POSITIVE_INFINITY, "1", null, true, 1n, {}, []]);
const badKeys = each([undefined, null, 7, Number.NaN, {}, ["k"], 1n, Symbol("k"), () => "k"]);
const badRules = each(["", "apy", "API", "constructor", "__proto__", "toString", undefined, null, 0, {}]);

type Ask = (limiter: Limiter<typeof rules>, rule: "api", key: string, cost: number) => Promise<unknown>;

/** Every way to ask, each given the same rule, key and cost. */
const methods: [string, Ask][] = [
  ["check", (limiter, rule, key, cost) => limiter.check(rule, key, { cost })],
  ["checkAll", (limiter, rule, key, cost) => limiter.checkAll([good, { rule, key, cost }])],
  ["firstOf", (limiter, rule, key, cost) => limiter.firstOf([good, { rule, key, cost }])],
  ["checkMany", (limiter, rule, key, cost) => limiter.checkMany([good, { rule, key, cost }])],
  ["peek", (limiter, rule, key, cost) => limiter.peek(rule, key, { cost })],
  ["refund", (limiter, rule, key, cost) => limiter.refund(rule, key, { cost })],
  ["penalize", (limiter, rule, key, cost) => limiter.penalize(rule, key, { cost })],
  ["wait", (limiter, rule, key, cost) => limiter.wait(rule, key, { cost })],
];
const withoutCost: [string, Ask][] = [["reset", (limiter, rule, key) => limiter.reset(rule, key)]];
const good: Check<"api"> = { rule: "api", key: "good" };

describe.each([
  ["over memory", (clock: ManualClock) => rateLimiter(rules, { clock })],
  ["over another store", (clock: ManualClock) => rateLimiter(rules, { store: new SlowStore(clock), clock })],
])("a limiter %s", (_over, make: (clock: ManualClock) => Limiter<typeof rules>) => {
  describe.each(methods)("%s", (_name, ask) => {
    it.each(badCosts)("refuses the cost %o, names it, and touches nothing", async (cost) => {
      const limiter = make(new ManualClock());
      await refused(limiter, ask(limiter, "api", "k", cost as number), "HG_BAD_COST", "cost");
    });
  });

  describe.each([...methods, ...withoutCost])("%s", (_name, ask) => {
    it.each(badKeys)("refuses the key %o, names it, and touches nothing", async (key) => {
      const limiter = make(new ManualClock());
      await refused(limiter, ask(limiter, "api", key as string, 1), "HG_BAD_KEY", "key");
    });

    it.each(badRules)("refuses the rule %o, says which there are, and touches nothing", async (rule) => {
      const limiter = make(new ManualClock());
      const error = await refused(limiter, ask(limiter, rule as "api", "k", 1), "HG_UNKNOWN_RULE", "rule");
      expect(error.message).toContain("(it has api, mail)");
    });
  });

  it("names ten rules at most of those that there are", async () => {
    const limits = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`r${i}`, tokenBucket("1/s")]));
    const ten = "r0, r1, r2, r3, r4, r5, r6, r7, r8, r9";
    await expect(rateLimiter(limits(10)).check("x", "k")).rejects.toThrow(`(it has ${ten})`);
    await expect(rateLimiter(limits(10_000)).check("x", "k")).rejects.toThrow(`(it has ${ten} and 9990 more)`);
  });

  it("refuses to schedule with a bad key or cost, and runs nothing", async () => {
    const limiter = make(new ManualClock());
    const task = (): never => {
      throw new Error("ran");
    };
    await refused(limiter, limiter.schedule("mail", 7 as never, task), "HG_BAD_KEY", "key");
    await refused(limiter, limiter.schedule("mail", "k", task, { cost: -1 }), "HG_BAD_COST", "cost");
    await refused(limiter, limiter.schedule("mial" as "mail", "k", task), "HG_UNKNOWN_RULE", "rule");
    expect((await limiter.peek("mail", "k")).remaining).toBe(5);
  });

  it.each([[[]], [undefined], [null], ["api"], [{ rule: "api", key: "k" }]])(
    "refuses %j as the checks of checkAll",
    async (checks) => {
      const limiter = make(new ManualClock());
      await refused(limiter, limiter.checkAll(checks as never), "HG_BAD_CHECKS", "checks");
    },
  );

  // A cost in the place of the options, or under a misspelt name, would charge 1.
  it.each([3, "3", null, true])("refuses %j for options", async (bad) => {
    const limiter = make(new ManualClock());
    const options = bad as never;
    await refused(limiter, limiter.check("api", "k", options), "HG_BAD_OPTION", "options");
    await refused(limiter, limiter.penalize("api", "k", options), "HG_BAD_OPTION", "options");
  });

  it.each(["costs", "Cost", "maxWait"])("refuses the unknown option %s", async (name) => {
    const limiter = make(new ManualClock());
    const options = { [name]: 3 };
    await refused(limiter, limiter.check("api", "k", options), "HG_BAD_OPTION", name);
    await refused(limiter, limiter.wait("api", "k", options), "HG_BAD_OPTION", name);
    await refused(limiter, limiter.checkAll([good, { rule: "api", key: "k", ...options }]), "HG_BAD_OPTION", name);
    await refused(limiter, limiter.checkMany([good, { rule: "api", key: "k", ...options }]), "HG_BAD_OPTION", name);
  });

  it.each([3, "3", true])("refuses to wait with %j for options", async (bad) => {
    const limiter = make(new ManualClock());
    await refused(limiter, limiter.wait("api", "k", bad as never), "HG_BAD_OPTION", "options");
    await refused(
      limiter,
      limiter.schedule("mail", "k", () => 1, bad as never),
      "HG_BAD_OPTION",
      "options",
    );
  });

  it("rejects an element of the checks that is not a check", async () => {
    const limiter = make(new ManualClock());
    for (const bad of [null, undefined, "api", 3]) {
      await refused(limiter, limiter.checkAll([good, bad as never]), "HG_BAD_CHECKS", "checks[1]");
      await refused(limiter, limiter.checkMany([good, bad as never]), "HG_BAD_CHECKS", "checks[1]");
    }
  });

  it.each([undefined, null, 3, { rule: "api", key: "k" }])("refuses %j as the checks of checkMany", async (checks) => {
    const limiter = make(new ManualClock());
    await refused(limiter, limiter.checkMany(checks as never), "HG_BAD_CHECKS", "checks");
  });

  it("refuses a check that checkAll was given twice, and names the second", async () => {
    const limiter = make(new ManualClock());
    const checks: Check<"api" | "mail">[] = [
      good,
      { rule: "mail", key: "good" },
      { rule: "api", key: "good", cost: 2 },
    ];
    const error = await refused(limiter, limiter.checkAll(checks), "HG_BAD_CHECKS", "checks[2]");
    expect(error.message).toContain('repeats rule "api" and key "good"');
  });

  it("does not take for twice what only looks like it", async () => {
    const limiter = make(new ManualClock());
    const keys = ["a", 'a"', "\ud800", "\ud801", "\ufffd", "\\ud800", ""];
    const verdict = await limiter.checkAll(keys.map((key) => ({ rule: "api", key }) as const));
    expect(verdict.decisions.map(({ remaining }) => remaining)).toEqual(keys.map(() => 4));
  });
});

describe("the methods without a promise", () => {
  it.each(badCosts)("refuse the cost %o", (cost) => {
    const { limiter } = testLimiter(rules);
    const options = { cost: cost as number };
    const problem = expect.objectContaining({ code: "HG_BAD_COST", field: expect.stringMatching(/(^|\.)cost$/) });
    expect(() => limiter.checkSync("api", "k", options)).toThrow(problem);
    expect(() => limiter.peekSync("api", "k", options)).toThrow(problem);
    expect(() => limiter.refundSync("api", "k", options)).toThrow(problem);
    expect(() => limiter.penalizeSync("api", "k", options)).toThrow(problem);
    expect(() => limiter.checkAllSync([good, { rule: "api", key: "k", ...options }])).toThrow(problem);
    expect(limiter.store.stats).toMatchObject({ api: { keys: 0 } });
  });

  it.each(badKeys)("refuse the key %o", (bad) => {
    const { limiter } = testLimiter(rules);
    const key = bad as string;
    const problem = expect.objectContaining({ code: "HG_BAD_KEY", field: expect.stringMatching(/(^|\.)key$/) });
    expect(() => limiter.checkSync("api", key)).toThrow(problem);
    expect(() => limiter.peekSync("api", key)).toThrow(problem);
    expect(() => limiter.resetSync("api", key)).toThrow(problem);
    expect(() => limiter.checkAllSync([good, { rule: "api", key }])).toThrow(problem);
    expect(limiter.store.stats).toMatchObject({ api: { keys: 0 } });
  });

  it("still decide rightly after a refusal", () => {
    const { limiter } = testLimiter(rules);
    limiter.checkSync("api", "k");
    expect(() => limiter.checkSync("apy" as "api", "k")).toThrow(HeadgateError);
    expect(() => limiter.checkSync("mail", "k", { cost: -1 })).toThrow(HeadgateError);
    expect(limiter.checkSync("api", "k")).toMatchObject({ rule: "api", remaining: 3 });
    expect(limiter.checkSync("mail", "k")).toMatchObject({ rule: "mail", remaining: 4 });
  });
});

describe("rateLimiter", () => {
  it.each(each([undefined, null, {}, [], [tokenBucket("1/s")], "api", 5]))("refuses %j for rules", (bad) => {
    expect(() => rateLimiter(bad as never)).toThrow(expect.objectContaining({ code: "HG_BAD_RULES", field: "rules" }));
  });

  it.each([
    undefined,
    null,
    "100/m",
    100,
    {},
    { capacity: 10, refill_rate: 1 },
    { algorithm: "gcra", limit: 1, window: 1 },
  ])("refuses %j for a limit, and names the rule", (bad) => {
    const problem = expect.objectContaining({ code: "HG_BAD_RULES", field: "rules.login" });
    expect(() => rateLimiter({ api: gcra("1/s"), login: bad as never })).toThrow(problem);
  });

  it.each([undefined, null, {}, "memory", { apply: 1 }])("refuses %j for a store", (store) => {
    const problem = expect.objectContaining({ code: "HG_BAD_OPTION", field: "store" });
    expect(() => rateLimiter(rules, { store: store as never })).toThrow(problem);
  });

  it("refuses a bad maxKeys", () => {
    const problem = expect.objectContaining({ code: "HG_BAD_OPTION", field: "maxKeys" });
    expect(() => rateLimiter(rules, { maxKeys: 0 })).toThrow(problem);
  });
});

/** A row for each value: a bare array would be taken for a row itself. */
function each(values: readonly unknown[]): [unknown][] {
  return values.map((value) => [value]);
}

/** The error, after making sure that it is one of ours, names the field, and that nothing was charged. */
async function refused(
  limiter: Limiter<typeof rules>,
  asked: Promise<unknown>,
  code: string,
  field: string,
): Promise<HeadgateError> {
  const error = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof HeadgateError)) throw new Error(`refused with ${String(error)}`);
  expect(error.code).toBe(code);
  expect(error.field).toContain(field);
  expect(error.message.startsWith(`${error.field}: `)).toBe(true);
  for (const key of ["k", "good"]) expect((await limiter.peek("api", key)).remaining).toBe(5);
  return error;
}
