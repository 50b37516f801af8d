import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { type Answer, type ApplyOptions, gcra, type Limiter, leakyBucket, rateLimiter } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const rules = { api: gcra("10/h"), mail: leakyBucket("10/h") };
const both = [
  { rule: "api", key: "k", cost: 2 },
  { rule: "mail", key: "k" },
] as const;
const conflict = expect.objectContaining({ code: "HG_IDEMPOTENCY_CONFLICT", field: "idempotencyKey" });

describe.each([
  ["memory", (clock: ManualClock) => rateLimiter(rules, { clock })],
  ["another store", (clock: ManualClock) => rateLimiter(rules, { store: new SlowStore(clock), clock })],
])("a limiter over %s, asked with an idempotency key", (_over, make: (clock: ManualClock) => Limiter<typeof rules>) => {
  it("decides once, and gives the same decision again", async () => {
    const clock = new ManualClock();
    const limiter = make(clock);
    const options = { cost: 4, idempotencyKey: "request-1" };
    const first = await limiter.check("api", "k", options);
    expect(first).toMatchObject({ allowed: true, remaining: 6, cost: 4 });
    await clock.advance(60_000);
    expect(await limiter.check("api", "k", options)).toEqual(first);
    expect((await limiter.peek("api", "k")).remaining).toBe(6);
  });

  it("refunds once and penalizes once, too", async () => {
    const limiter = make(new ManualClock());
    await limiter.check("api", "k", { cost: 9 });
    const refund = { cost: 3, idempotencyKey: "refund" };
    expect((await limiter.refund("api", "k", refund)).remaining).toBe(4);
    expect((await limiter.refund("api", "k", refund)).remaining).toBe(4);
    const penalty = { cost: 2, idempotencyKey: "penalty" };
    expect((await limiter.penalize("api", "k", penalty)).remaining).toBe(2);
    expect((await limiter.penalize("api", "k", penalty)).remaining).toBe(2);
    expect((await limiter.peek("api", "k")).remaining).toBe(2);
  });

  it("gives the same verdict again about several rules", async () => {
    const limiter = make(new ManualClock());
    const first = await limiter.checkAll(both, { idempotencyKey: "request-1" });
    expect(first).toMatchObject({ allowed: true, remaining: 8 });
    expect(await limiter.checkAll(both, { idempotencyKey: "request-1" })).toEqual(first);
    expect((await limiter.peek("api", "k")).remaining).toBe(8);
    await expect(limiter.checkAll(both.slice(0, 1), { idempotencyKey: "request-1" })).rejects.toEqual(conflict);
  });

  it("refuses the key for another request", async () => {
    const limiter = make(new ManualClock());
    await limiter.check("api", "k", { idempotencyKey: "request-1" });
    await expect(limiter.check("api", "k", { cost: 2, idempotencyKey: "request-1" })).rejects.toEqual(conflict);
    await expect(limiter.refund("api", "k", { idempotencyKey: "request-1" })).rejects.toEqual(conflict);
    expect((await limiter.peek("api", "k")).remaining).toBe(9);
    expect((await limiter.check("api", "l", { cost: 2, idempotencyKey: "request-1" })).remaining).toBe(8);
  });

  it.each([
    [""],
    ["x".repeat(256)],
    ["two words"],
    ["a\nb"],
    ["\u007f"],
    ["Jörg"],
    [7],
    [null],
    [{}],
    [["k"]],
    [Symbol("k")],
  ])("refuses %o for one, and charges nothing", async (bad) => {
    const limiter = make(new ManualClock());
    const options = { idempotencyKey: bad as string };
    const problem = expect.objectContaining({ code: "HG_BAD_OPTION", field: "idempotencyKey" });
    await expect(limiter.check("api", "k", options)).rejects.toEqual(problem);
    await expect(limiter.refund("api", "k", options)).rejects.toEqual(problem);
    await expect(limiter.penalize("api", "k", options)).rejects.toEqual(problem);
    await expect(limiter.checkAll(both, options)).rejects.toEqual(problem);
    expect((await limiter.peek("api", "k")).remaining).toBe(10);
  });

  it("takes 255 characters", async () => {
    const limiter = make(new ManualClock());
    for (const last of ["x", "y", "x"]) await limiter.check("api", "k", { idempotencyKey: "x".repeat(254) + last });
    expect((await limiter.peek("api", "k")).remaining).toBe(8);
  });

  const once = { idempotencyKey: "request-1" } as never;
  it.each<[string, (limiter: Limiter<typeof rules>) => Promise<unknown>]>([
    ["peek", (limiter) => limiter.peek("api", "k", once)],
    ["reset", (limiter) => limiter.reset("api", "k", once)],
    ["checkMany", (limiter) => limiter.checkMany("api", ["k"], once)],
    ["checkMany", (limiter) => limiter.checkMany(both, once)],
    ["wait", (limiter) => limiter.wait("api", "k", once)],
    ["schedule", (limiter) => limiter.schedule("mail", "k", () => 1, once)],
  ])("refuses it to %s, and says why", async (name, ask) => {
    const limiter = make(new ManualClock());
    const problem = { code: "HG_BAD_OPTION", field: "idempotencyKey", message: expect.stringContaining(name) };
    await expect(ask(limiter)).rejects.toMatchObject(problem);
    for (const rule of ["api", "mail"] as const) expect((await limiter.peek(rule, "k")).remaining).toBe(10);
  });

  it("rejects unknown options", async () => {
    const limiter = make(new ManualClock());
    const unknown = (field: string) => expect.objectContaining({ code: "HG_BAD_OPTION", field });
    await expect(limiter.checkAll(both, { cost: 2 } as never)).rejects.toEqual(unknown("options.cost"));
    await expect(limiter.checkAll(both, "request-1" as never)).rejects.toEqual(unknown("options"));
    await expect(limiter.reset("api", "k", { cost: 2 } as never)).rejects.toEqual(unknown("options.cost"));
    await expect(limiter.checkMany(both, { cost: 2 } as never)).rejects.toEqual(unknown("options.cost"));
    await expect(limiter.check("api", "k", { idempotencykey: "k" } as never)).rejects.toEqual(
      unknown("options.idempotencykey"),
    );
  });
});

describe("the methods without a promise, asked with an idempotency key", () => {
  it("decide once, and share what is remembered with the others", async () => {
    const { limiter } = testLimiter(rules);
    const options = { cost: 4, idempotencyKey: "request-1" };
    const first = limiter.checkSync("api", "k", options);
    expect(limiter.checkSync("api", "k", options)).toEqual(first);
    expect(await limiter.check("api", "k", options)).toEqual(first);
    expect(() => limiter.penalizeSync("api", "k", options)).toThrow(conflict);
    for (let i = 0; i < 2; i += 1) limiter.refundSync("api", "k", { cost: 3, idempotencyKey: "request-2" });
    for (let i = 0; i < 2; i += 1) limiter.penalizeSync("api", "k", { idempotencyKey: "request-3" });
    expect(limiter.peekSync("api", "k").remaining).toBe(8);
    const verdict = limiter.checkAllSync(both, { idempotencyKey: "request-4" });
    expect(limiter.checkAllSync(both, { idempotencyKey: "request-4" })).toEqual(verdict);
    expect(limiter.peekSync("api", "k").remaining).toBe(6);
  });

  it("refuse it where it is of no use", () => {
    const { limiter } = testLimiter(rules);
    const once = { idempotencyKey: "request-1" } as never;
    const problem = expect.objectContaining({ code: "HG_BAD_OPTION", field: "idempotencyKey" });
    expect(() => limiter.peekSync("api", "k", once)).toThrow(problem);
    expect(() => limiter.resetSync("api", "k", once)).toThrow(problem);
    expect(() => limiter.checkManySync("api", ["k"], once)).toThrow(problem);
    expect(() => limiter.checkManySync(both, once)).toThrow(problem);
    expect(() => limiter.checkSync("api", "k", { idempotencyKey: "" })).toThrow(problem);
  });
});

describe("a store", () => {
  it("receives the idempotency key if there is one, and nothing otherwise", async () => {
    const told: (ApplyOptions | undefined)[] = [];
    const answer: Answer = {
      time: 1_700_000_000_000_000,
      allowed: true,
      remaining: 1,
      retryAfter: 0,
      resetAfter: 0,
      source: "store",
      degraded: false,
    };
    const store = {
      apply: (_action: unknown, operations: readonly unknown[], options?: ApplyOptions) => {
        told.push(options);
        return operations.map(() => answer);
      },
    };
    const limiter = rateLimiter(rules, { store });
    await limiter.check("api", "k");
    await limiter.check("api", "k", { cost: 2 });
    await limiter.checkAll(both);
    await limiter.check("api", "k", { cost: 2, idempotencyKey: "a" });
    await limiter.checkAll(both, { idempotencyKey: "b" });
    expect(told).toEqual([undefined, undefined, undefined, { idempotencyKey: "a" }, { idempotencyKey: "b" }]);
  });
});
