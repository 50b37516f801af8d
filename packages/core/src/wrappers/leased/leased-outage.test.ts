import { describe, expect, it } from "vitest";
import { KEY, LeasedNode, WatchedStore } from "../../../test/wrappers/leased/leased-node.ts";
import { fixedWindow } from "../../algorithms/registry.ts";
import { StoreError } from "../../errors.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { resilient } from "../resilient/resilient.ts";
import { LeasedStore } from "./leased.ts";

const rule = { name: "api", limit: fixedWindow("100/m") };
const gone = (): Error => new StoreError("HG_STORE_UNREACHABLE", "is gone");

describe("a leased store whose pool is gone", () => {
  it("spends what it holds, and then fails as the store does", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    node.pool.fails = gone;
    expect(await node.takeMany(rule, 10)).toBe(10);
    await expect(node.take(rule)).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
  });

  it("spends what it holds, and then applies the fallback of a resilient store", async () => {
    const clock = new ManualClock();
    const pool = new WatchedStore(clock);
    const store = new LeasedStore(resilient(pool, { onError: "deny", onDegraded: () => {}, clock }), {
      promoteAfter: 1,
      base: 10,
      clock,
    });
    const take = async (): Promise<unknown> => (await store.apply("take", [{ rule, key: KEY, cost: 1 }]))[0];
    await take();
    pool.fails = gone;
    for (let i = 0; i < 10; i += 1) expect(await take()).toMatchObject({ allowed: true, source: "lease" });
    expect(await take()).toMatchObject({ allowed: false, source: "fallback", degraded: true });
  });

  it("holds no quota that only a fallback granted", async () => {
    const clock = new ManualClock();
    const pool = new WatchedStore(clock);
    const store = new LeasedStore(resilient(pool, { onError: "allow", onDegraded: () => {}, clock }), {
      promoteAfter: 1,
      base: 10,
      clock,
    });
    pool.fails = gone;
    expect(await store.apply("take", [{ rule, key: KEY, cost: 1 }])).toMatchObject([{ source: "fallback" }]);
    expect(store.stats).toMatchObject({ granted: 0, held: 0 });
  });

  it("finds a grant again whose reply was lost", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 100_000 });
    const { apply } = node.pool;
    node.pool.apply = async (...call) => {
      await apply.apply(node.pool, call);
      throw new StoreError("HG_STORE_TIMEOUT", "did not answer");
    };
    await expect(node.take(rule)).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    node.pool.apply = apply;
    // 11 by the grant, 1 by the request itself when it went straight.
    expect(node.pool.left(rule, KEY)).toBe(88);
    await node.take(rule);
    await node.pool.clock.advance(0);
    expect(node.store.stats).toMatchObject({ granted: 22, spent: 1, held: 21 });
  });

  it("finds it before it denies a request", async () => {
    const node = new LeasedNode({ base: 30, idleMs: 100_000 });
    const { apply } = node.pool;
    node.pool.apply = async (...call) => {
      await apply.apply(node.pool, call);
      throw new StoreError("HG_STORE_TIMEOUT", "did not answer");
    };
    await expect(node.take(rule, 40)).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    node.pool.apply = apply;
    expect(node.pool.left(rule, KEY)).toBe(30);
    await node.pool.apply("take", [{ rule, key: KEY, cost: 30 }]);
    // Others have all that is left, and we the 70 that we do not know of.
    expect(await node.takeMany(rule, 100)).toBe(70);
  });

  it("passes on what is a mistake of the caller", async () => {
    const node = new LeasedNode();
    node.pool.fails = () => new TypeError("no");
    await expect(node.take(rule)).rejects.toThrow(TypeError);
  });
});
