import { describe, expect, it } from "vitest";
import { KEY, LeasedNode } from "../../../test/wrappers/leased/leased-node.ts";
import {
  bucketedWindow,
  fixedWindow,
  gcra,
  leakyBucket,
  slidingWindow,
  slidingWindowLog,
  tokenBucket,
} from "../../algorithms/registry.ts";
import { rateLimiter } from "../../rate-limiter.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { leased } from "./leased.ts";

describe("the options of a leased store", () => {
  it.each([
    [{ nodes: 0 }, "nodes"],
    [{ base: 1.5 }, "base"],
    [{ prefetchAt: 1 }, "prefetchAt"],
    [{ prefetchAt: Number.NaN }, "prefetchAt"],
    [{ promoteAfter: 0 }, "promoteAfter"],
    [{ idleMs: 0 }, "idleMs"],
    [{ giveBackEveryMs: -1 }, "giveBackEveryMs"],
    [{ leaseMs: Number.POSITIVE_INFINITY }, "leaseMs"],
    [{ admitWhileAsking: -1 }, "admitWhileAsking"],
    [{ maxLeases: 0 }, "maxLeases"],
    [{ overProvision: true }, "base"],
  ])("are refused if %o", (options, field) => {
    expect(() => leased(new MemoryStore(), options)).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field }) as Error,
    );
  });

  it("must be of a store, and known", () => {
    expect(() => leased({} as MemoryStore)).toThrow(expect.objectContaining({ field: "store" }) as Error);
    expect(() => leased(new MemoryStore(), { bases: 3 } as object)).toThrow(
      expect.objectContaining({ field: "options.bases" }) as Error,
    );
  });

  it.each([
    ["sliding_window_counter", slidingWindow("10/s")],
    ["sliding_window_log", slidingWindowLog("10/s")],
    ["bucketed_window", bucketedWindow("10/s")],
    ["leaky_bucket", leakyBucket("10/s")],
  ])("refuse a %s when the limiter is made, before any request", (algorithm, limit) => {
    const store = leased(new MemoryStore());
    expect(() => rateLimiter({ api: limit }, { store })).toThrow(
      expect.objectContaining({
        code: "HG_BAD_RULES",
        field: "rules.api",
        message: expect.stringContaining(algorithm),
      }) as Error,
    );
    const limiter = rateLimiter({ api: fixedWindow("10/s") }, { store });
    expect(() => limiter.setLimit("api", limit)).toThrow(expect.objectContaining({ code: "HG_BAD_RULES" }) as Error);
  });

  it("take any rule beside those that they name", async () => {
    const store = leased(new MemoryStore(), { rules: ["api"], promoteAfter: 1 });
    const limiter = rateLimiter({ api: tokenBucket("10/s"), log: slidingWindowLog("10/s") }, { store });
    expect(await limiter.check("log", KEY)).toMatchObject({ allowed: true, source: "store" });
  });

  it("admit the configured number while the pool is asked, in each window", async () => {
    const rule = { name: "api", limit: fixedWindow("10/m") };
    const node = new LeasedNode({ base: 5, admitWhileAsking: 3 });
    const answers = Array.from({ length: 4 }, () => node.store.apply("take", [{ rule, key: KEY, cost: 1 }]));
    expect(answers.map((answer) => "then" in answer)).toEqual([false, false, false, true]);
    await Promise.all(answers);
    let passed = 4;
    for (let i = 0; i < 20; i += 1) if ((await node.take(rule)).allowed) passed += 1;
    expect(passed).toBeGreaterThanOrEqual(10);
    expect(passed).toBeLessThanOrEqual(13);
  });

  it("do not ask a pool forever that has too little left for what was lent", async () => {
    const rule = { name: "api", limit: fixedWindow("10/m") };
    const node = new LeasedNode({ admitWhileAsking: 5 });
    await node.pool.apply("take", [{ rule, key: KEY, cost: 7 }]);
    const answers = Array.from({ length: 6 }, () => node.store.apply("take", [{ rule, key: KEY, cost: 1 }]));
    const allowed = (await Promise.all(answers)).filter(([answer]) => answer.allowed);
    expect(allowed).toHaveLength(6);
    expect(node.pool.left(rule, KEY)).toBe(0);
    // Two of five are granted: two may be lent again, and never more than five are owed.
    expect(await node.takeMany(rule, 20)).toBe(2);
  });

  it("give the pool more than the limit, so that the limit is there for each", async () => {
    const rule = { name: "api", limit: fixedWindow("100/m") };
    const node = new LeasedNode({ base: 5, nodes: 4, overProvision: true });
    expect(await node.takeMany(rule, 200)).toBe(120);
  });

  it.each([tokenBucket("100/s"), gcra("100/s")])(
    "keep a bucket's burst: what nodes may hold is not in the pool",
    async (limit) => {
      const rule = { name: "api", limit };
      const node = new LeasedNode({ nodes: 2, base: 5 });
      expect(await node.takeMany(rule, 200)).toBe(90);
      await node.pool.clock.advance(50);
      expect(await node.takeMany(rule, 200)).toBe(5);
    },
  );
});
