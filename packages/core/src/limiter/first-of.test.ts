import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import {
  concurrency,
  fixedWindow,
  HeadgateError,
  type Limiter,
  MemoryStore,
  rateLimiter,
  type Store,
  slidingWindow,
  tokenBucket,
} from "../index.ts";
import { StoreWrapper } from "../store.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const rules = { plan: fixedWindow("3/h"), credits: tokenBucket("2/d"), tasks: concurrency(2) };
const either = [
  { rule: "plan", key: "ann" },
  { rule: "credits", key: "ann" },
] as const;

describe.each<[string, (clock: ManualClock) => Limiter<typeof rules>]>([
  ["over memory", (clock) => rateLimiter(rules, { clock })],
  ["over another store", (clock) => rateLimiter(rules, { store: new SlowStore(clock), clock })],
])("firstOf %s", (_over, make) => {
  it("charges the first rule with room, and the decision says which", async () => {
    const limiter = make(new ManualClock());
    const decisions = [];
    for (let i = 0; i < 6; i += 1) decisions.push(await limiter.firstOf(either));
    expect(decisions.map(({ allowed, rule, remaining }) => [allowed, rule, remaining])).toEqual([
      [true, "plan", 2],
      [true, "plan", 1],
      [true, "plan", 0],
      [true, "credits", 1],
      [true, "credits", 0],
      [false, "plan", 0],
    ]);
    expect(decisions[3]).toMatchObject({ limit: 2, cost: 1, retryAfterMs: 0, deniedBy: [], source: "store" });
  });

  it("says which key was charged, so that it can be refunded", async () => {
    const limiter = make(new ManualClock());
    const ladder = ["ann", "team"].map((key) => ({ rule: "credits", key, cost: 2 }) as const);
    const decisions = [];
    for (let i = 0; i < 3; i += 1) decisions.push(await limiter.firstOf(ladder));
    expect(decisions.map(({ allowed, key }) => [allowed, key])).toEqual([
      [true, "ann"],
      [true, "team"],
      [false, "ann"],
    ]);
    expect((await limiter.check("plan", "ann")).key).toBeUndefined();
    const [{ rule, key = "", cost }] = decisions.slice(1);
    await limiter.refund(rule, key, { cost });
    expect(await limiter.firstOf(ladder)).toMatchObject({ allowed: true, key: "team" });
  });

  it("denies with the shortest wait, and names all rules that denied", async () => {
    const clock = new ManualClock();
    const limiter = make(clock);
    await limiter.penalize("plan", "ann", { cost: 3 });
    await limiter.penalize("credits", "ann", { cost: 2 });
    const denial = await limiter.firstOf(either);
    expect(denial).toMatchObject({
      allowed: false,
      rule: "plan",
      retryAfterMs: 3_600_000,
      deniedBy: ["plan", "credits"],
    });
    expect(await limiter.firstOf([either[1], either[0]])).toMatchObject({
      rule: "plan",
      deniedBy: ["credits", "plan"],
    });
    expect(String(denial.explain())).toMatch(/^plan \(fixed_window, 3 per 60 min\); denied/);
    await clock.advance(denial.retryAfterMs - 0.001);
    expect((await limiter.firstOf(either)).allowed).toBe(false);
    await clock.advance(0.001);
    expect(await limiter.firstOf(either)).toMatchObject({ allowed: true, rule: "plan" });
  });

  it("passes over a rule whose cost can never fit, unless all are like that", async () => {
    const limiter = make(new ManualClock());
    const cost = 3;
    expect(await limiter.firstOf([{ ...either[1], cost }, either[0]])).toMatchObject({ rule: "plan", cost: 1 });
    await limiter.penalize("plan", "ann", { cost: 2 });
    const denial = await limiter.firstOf([{ ...either[1], cost }, either[0]]);
    expect(denial).toMatchObject({ rule: "plan", retryAfterMs: 3_600_000 });
    const never = await limiter.firstOf([{ ...either[1], cost }]);
    expect(never).toMatchObject({ allowed: false, rule: "credits", retryAfterMs: Number.POSITIVE_INFINITY });
  });

  it("decides by the limits that are given with the checks", async () => {
    const limiter = make(new ManualClock());
    await limiter.penalize("plan", "ann", { cost: 3 });
    const checks = [{ ...either[0], limit: fixedWindow("5/h") }, either[1]];
    expect(await limiter.firstOf(checks)).toMatchObject({ allowed: true, rule: "plan", limit: 5, remaining: 1 });
  });

  it("is charged once under an idempotency key", async () => {
    const limiter = make(new ManualClock());
    const options = { idempotencyKey: "request-1" };
    await limiter.penalize("plan", "ann", { cost: 3 });
    const first = await limiter.firstOf(either, options);
    expect(first.rule).toBe("credits");
    await limiter.reset("plan", "ann");
    expect(await limiter.firstOf(either, options)).toEqual(first);
    expect((await limiter.peek("credits", "ann")).remaining).toBe(1);
    expect((await limiter.peek("plan", "ann")).remaining).toBe(3);
    await expect(limiter.firstOf([either[1], either[0]], options)).rejects.toMatchObject({
      code: "HG_IDEMPOTENCY_CONFLICT",
    });
    await expect(limiter.checkAll(either, options)).rejects.toMatchObject({ code: "HG_IDEMPOTENCY_CONFLICT" });
  });

  it.each<[string, unknown, object]>([
    ["no list", "plan", { code: "HG_BAD_CHECKS", field: "checks" }],
    ["an empty list", [], { code: "HG_BAD_CHECKS", field: "checks" }],
    ["a rule and key twice", [...either, { ...either[0], cost: 2 }], { code: "HG_BAD_CHECKS", field: "checks[2]" }],
    ["too many", Array.from({ length: 257 }, (_, i) => ({ rule: "plan", key: `k${i}` })), { code: "HG_BAD_CHECKS" }],
    ["a concurrency limit", [either[0], { rule: "tasks", key: "ann" }], { code: "HG_NEEDS_SLOT" }],
    ["an unknown rule", [either[0], { rule: "gift", key: "ann" }], { code: "HG_UNKNOWN_RULE" }],
    ["a wrong cost", [either[0], { ...either[1], cost: 1.5 }], { code: "HG_BAD_COST", field: "checks[1].cost" }],
    ["a wrong key", [either[0], { rule: "credits", key: 7 }], { code: "HG_BAD_KEY", field: "checks[1].key" }],
    ["a limit of another kind", [either[0], { ...either[1], limit: slidingWindow("9/d") }], { code: "HG_BAD_LIMIT" }],
    ["an unknown field", [either[0], { ...either[1], costs: 1 }], { code: "HG_BAD_OPTION", field: "checks[1].costs" }],
  ])("rejects %s, and charges nothing", async (_what, checks, problem) => {
    const limiter = make(new ManualClock());
    await expect(limiter.firstOf(checks as never)).rejects.toBeInstanceOf(HeadgateError);
    await expect(limiter.firstOf(checks as never)).rejects.toMatchObject(problem);
    expect((await limiter.peek("plan", "ann")).remaining).toBe(3);
    expect((await limiter.peek("credits", "ann")).remaining).toBe(2);
  });

  it("rejects options that it does not have", async () => {
    const limiter = make(new ManualClock());
    await expect(limiter.firstOf(either, { cost: 2 } as never)).rejects.toMatchObject({ code: "HG_BAD_OPTION" });
    await expect(limiter.firstOf(either, { idempotencyKey: "" })).rejects.toMatchObject({ field: "idempotencyKey" });
  });
});

describe("firstOf without a promise", () => {
  it("throws the same errors", () => {
    const { limiter } = testLimiter(rules);
    expect(() => limiter.firstOfSync([])).toThrow("checks: must have at least one check");
    const twice = [either[0], either[0]];
    expect(() => limiter.firstOfSync(twice)).toThrow('repeats rule "plan" and key "ann": leave out one of them');
    expect(() => limiter.firstOfSync([{ rule: "tasks", key: "ann" }])).toThrow("use reserve or run");
  });
});

describe("firstOf over a store that does not know alternatives", () => {
  const calls: string[] = [];
  const memory = new MemoryStore();
  const store: Store = {
    apply(action, operations, options) {
      calls.push(action);
      // What stores written for other actions do: one that corrects or peeks.
      return memory.apply(action === "take" ? "take" : "peek", operations, options);
    },
  };

  it.each([
    ["itself", store],
    ["in a wrapper", new StoreWrapper(store)],
  ])("fails before the store is asked: %s", async (_how, each) => {
    const limiter = rateLimiter({ plan: rules.plan }, { store: each });
    const error = { code: "HG_NOT_SUPPORTED", field: "store" };
    await expect(limiter.firstOf([{ rule: "plan", key: "ann" }])).rejects.toMatchObject(error);
    expect(calls).toEqual([]);
  });
});
