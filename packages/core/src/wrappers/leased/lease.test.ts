import { describe, expect, it } from "vitest";
import { KEY, LeasedNode, WatchedStore } from "../../../test/wrappers/leased/leased-node.ts";
import { fixedWindow } from "../../algorithms/registry.ts";
import { ManualClock } from "../../testing/manual-clock.ts";

const SLOW_MS = 400;
const rule = { name: "api", limit: fixedWindow("100/m") };

describe("a leased store, spending", () => {
  it("sends the requests of a cold key to the store, each by itself", async () => {
    const node = new LeasedNode({ promoteAfter: 3, base: 10 });
    expect(await node.takeMany(rule, 2)).toBe(2);
    expect(node.pool.calls).toEqual(["take 1", "take 1"]);
    expect(node.store.leaseOf("api", KEY)).toBeUndefined();
  });

  it("promotes a key that comes often, and takes what it needs and a base", async () => {
    const node = new LeasedNode({ promoteAfter: 3, base: 10 });
    await node.takeMany(rule, 3);
    expect(node.pool.calls).toEqual(["take 1", "take 1", "take 11"]);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 10, pool: 87, epoch: 1 });
  });

  it("does not promote a key whose requests are seconds apart", async () => {
    const node = new LeasedNode({ promoteAfter: 3, base: 10 });
    for (let i = 0; i < 10; i += 1) {
      await node.take(rule);
      await node.pool.clock.advance(1_000);
    }
    expect(node.store.stats.leases).toBe(0);
  });

  it("promotes a key sooner where the store is slow, and keeps what it holds for longer", async () => {
    const node = new LeasedNode({ promoteAfter: 8, base: 10 }, slowly(new WatchedStore(new ManualClock()), SLOW_MS));
    await answered(node);
    expect(node.store.leaseOf("api", KEY)).toBeUndefined();
    await answered(node);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 10 });
    await node.pool.clock.advance(1_500);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 10 });
    await node.pool.clock.advance(5_000);
    expect(node.store.stats).toMatchObject({ leases: 0, returned: 10 });
  });

  it("reports times by the store's clock, although it uses its own", async () => {
    const pool = new WatchedStore(new ManualClock(1_700_000_000_123.457));
    const own = new ManualClock(5);
    const node = new LeasedNode({ base: 10, clock: own }, pool);
    const end = Math.ceil(pool.clock.now() / 60_000_000) * 60_000_000;
    await node.take(rule);
    for (let i = 0; i < 99; i += 1) {
      await Promise.all([own.advance(1.001), pool.clock.advance(1.001)]);
      const { allowed, time, resetAfter } = await node.take(rule);
      expect([allowed, time, time + resetAfter]).toEqual([true, pool.clock.now(), end]);
    }
    const { allowed, time, resetAfter, retryAfter } = await node.take(rule);
    expect([allowed, time, time + resetAfter, time + retryAfter]).toEqual([false, pool.clock.now(), end, end]);
  });

  it("answers at once, without a promise, from what it holds", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    const answers = node.store.apply("take", [{ rule, key: KEY, cost: 1 }]);
    expect(answers).toMatchObject([{ allowed: true, source: "lease", degraded: false, remaining: 98 }]);
    expect(node.pool.calls).toEqual(["take 11"]);
  });

  it("fetches the next batch when a fifth of the last one is left, without delaying requests", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    for (let i = 0; i < 8; i += 1) node.store.apply("take", [{ rule, key: KEY, cost: 1 }]);
    expect(node.pool.calls).toEqual(["take 11", "take 10"]);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 2 });
    await node.pool.clock.advance(0);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 12 });
  });

  it("fetches it at the part that is asked for", async () => {
    const node = new LeasedNode({ base: 10, prefetchAt: 0.5 });
    await node.take(rule);
    await node.takeMany(rule, 4);
    expect(node.pool.calls).toEqual(["take 11"]);
    await node.take(rule);
    expect(node.pool.calls).toEqual(["take 11", "take 10"]);
  });

  it("asks for what a request needs and a base when that is more than it holds", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    expect(await node.take(rule, 15)).toMatchObject({ allowed: true });
    expect(node.pool.calls).toEqual(["take 11", "take 25"]);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 20 });
  });

  it("empties a pool that is smaller than its base in a few steps", async () => {
    const node = new LeasedNode({ base: 1_000 });
    expect(await node.takeMany(rule, 100)).toBe(100);
    expect(node.store.stats.roundTrips).toBeLessThan(12);
  });

  it("takes no more than there is, and denies only when nothing is left in the lease or the pool", async () => {
    const node = new LeasedNode({ base: 30 });
    expect(await node.takeMany(rule, 120)).toBe(100);
    expect(node.store.stats).toMatchObject({ spent: 100, held: 0, burnt: 0 });
  });

  it("asks at once for many that wait together, as far as what has come does not pay for them", async () => {
    const node = new LeasedNode({ base: 10 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => node.take(rule)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(20);
    expect(node.pool.calls).toEqual(["take 11", "take 19"]);
  });

  it("pays a request from the pool and what it holds together, by giving that back first", async () => {
    const node = new LeasedNode({ base: 20 });
    await node.take(rule);
    await node.pool.apply("take", [{ rule, key: KEY, cost: 70 }]);
    expect(node.pool.left(rule, KEY)).toBe(9);
    expect(await node.take(rule, 29)).toMatchObject({ allowed: true });
    expect(node.pool.left(rule, KEY)).toBe(0);
  });

  it("answers a cost beyond the limit as the store does: never", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    expect(await node.take(rule, 101)).toMatchObject({ allowed: false, retryAfter: Number.POSITIVE_INFINITY });
  });

  it("sends a request with an idempotency key to the store, which alone remembers it", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    const first = await node.take(rule, 1, { idempotencyKey: "a" });
    expect(await node.take(rule, 1, { idempotencyKey: "a" })).toEqual(first);
    expect(node.pool.left(rule, KEY)).toBe(88);
  });

  it("accounts for every unit that it was granted", async () => {
    const node = new LeasedNode({ base: 7 });
    await node.takeMany(rule, 40);
    await node.pool.clock.advance(120_000);
    const { granted, spent, held, returning, returned, burnt } = node.store.stats;
    expect(granted).toBe(spent + held + returning + returned + burnt);
    expect(spent).toBe(40);
  });
});

/** Each of its answers takes this many milliseconds. */
function slowly(pool: WatchedStore, ms: number): WatchedStore {
  const { apply } = pool;
  pool.apply = async (...call) => {
    await pool.clock.sleep(ms);
    return apply.apply(pool, call);
  };
  return pool;
}

async function answered(node: LeasedNode): Promise<void> {
  const answer = node.take(rule);
  await node.pool.clock.advance(SLOW_MS);
  await answer;
}
