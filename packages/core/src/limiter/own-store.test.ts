import { describe, expect, it } from "vitest";
import { type Action, type Answer, gcra, leakyBucket, type Operation, rateLimiter, type Store } from "../index.ts";
import { ManualClock } from "../testing/index.ts";

const full: Answer = {
  time: 1_700_000_000_000_000,
  allowed: true,
  remaining: 4,
  retryAfter: 0,
  resetAfter: 12_000_000,
  source: "store",
  degraded: false,
};

/** Returns prepared answers and records its calls. */
class ToldStore implements Store {
  readonly asked: [Action, readonly Operation[]][] = [];
  answer: Partial<Answer> = {};

  async apply(action: Action, operations: readonly Operation[]): Promise<readonly Answer[]> {
    this.asked.push([action, operations]);
    return operations.map(() => ({ ...full, ...this.answer }));
  }
}

const api = gcra("5/m");
const mail = leakyBucket("5/m");

describe("a limiter over a custom store", () => {
  it("asks it once for each request, with the rule, the key and the cost", async () => {
    const store = new ToldStore();
    const limiter = rateLimiter({ api, mail }, { store });
    await limiter.check("api", "k", { cost: 2 });
    await limiter.peek("api", "k");
    await limiter.refund("api", "k", { cost: 3 });
    await limiter.penalize("api", "k", { cost: 4 });
    await limiter.reset("api", "k");
    await limiter.checkAll([
      { rule: "api", key: "k" },
      { rule: "mail", key: "l", cost: 0 },
    ]);
    const asked = store.asked.map(([action, operations]) => [
      action,
      operations.map(({ rule, key, cost }) => [rule.name, rule.limit, key, cost]),
    ]);
    expect(asked).toEqual([
      ["take", [["api", api, "k", 2]]],
      ["peek", [["api", api, "k", 1]]],
      ["refund", [["api", api, "k", 3]]],
      ["penalize", [["api", api, "k", 4]]],
      ["reset", [["api", api, "k", 1]]],
      [
        "take",
        [
          ["api", api, "k", 1],
          ["mail", mail, "l", 0],
        ],
      ],
    ]);
  });

  it("asks for the checks of checkMany apart, for they may pass apart", async () => {
    const store = new ToldStore();
    const limiter = rateLimiter({ api, mail }, { store });
    await limiter.checkMany([
      { rule: "api", key: "k" },
      { rule: "mail", key: "l" },
    ]);
    expect(store.asked.map(([action, operations]) => [action, operations.length])).toEqual([
      ["take", 1],
      ["take", 1],
    ]);
  });

  it.each(["store", "lease", "cache", "fallback"] as const)(
    "passes on that the answer came from a %s",
    async (source) => {
      const store = new ToldStore();
      const limiter = rateLimiter({ api }, { store });
      store.answer = { source, degraded: source === "fallback" };
      expect(await limiter.check("api", "k")).toMatchObject({ source, degraded: source === "fallback" });
      expect(await limiter.checkAll([{ rule: "api", key: "k" }])).toMatchObject({ source });
    },
  );

  it("is degraded as a whole if one of the answers is", async () => {
    const answers = [full, { ...full, remaining: 9, source: "fallback" as const, degraded: true }];
    const limiter = rateLimiter({ api, mail }, { store: { apply: () => answers } });
    const verdict = await limiter.checkAll([
      { rule: "api", key: "k" },
      { rule: "mail", key: "k" },
    ]);
    // The numbers are those of the tighter limit, and so is their source.
    expect(verdict).toMatchObject({ rule: "api", remaining: 4, source: "store", degraded: true });
  });

  it("converts the microseconds of the store to milliseconds", async () => {
    const store = new ToldStore();
    store.answer = { allowed: false, retryAfter: 1_500, resetAfter: 2_500_001, remaining: 0.25 };
    const decision = await rateLimiter({ api }, { store }).check("api", "k");
    expect(decision).toMatchObject({ retryAfterMs: 1.5, resetAfterMs: 2_500.001, remaining: 0.25, deniedBy: ["api"] });
  });

  it("takes answers with or without a promise", async () => {
    const limiter = rateLimiter({ api }, { store: { apply: (_action, operations) => operations.map(() => full) } });
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: true, remaining: 4 });
  });

  it("rejects with the error of the store", async () => {
    const gone = new Error("gone");
    const rejecting = rateLimiter({ api }, { store: { apply: () => Promise.reject(gone) } });
    const throwing = rateLimiter(
      { api },
      {
        store: {
          apply: () => {
            throw gone;
          },
        },
      },
    );
    for (const limiter of [rejecting, throwing]) {
      await expect(limiter.check("api", "k")).rejects.toBe(gone);
      await expect(limiter.checkAll([{ rule: "api", key: "k" }])).rejects.toBe(gone);
      await expect(limiter.checkMany([{ rule: "api", key: "k" }])).rejects.toBe(gone);
      await expect(limiter.wait("api", "k")).rejects.toBe(gone);
    }
  });

  it("sleeps by the clock that it is given", async () => {
    const clock = new ManualClock();
    const store = new ToldStore();
    store.answer = { allowed: false, retryAfter: 1_000_000 };
    const waiting = rateLimiter({ api }, { store, clock }).wait("api", "k");
    await clock.advance(999);
    expect(store.asked).toHaveLength(1);
    store.answer = {};
    await clock.advance(1);
    expect((await waiting).allowed).toBe(true);
  });

  it("has no methods without a promise", () => {
    const limiter = rateLimiter({ api }, { store: new ToldStore() });
    expect("checkSync" in limiter).toBe(false);
  });
});
