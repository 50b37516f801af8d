import { describe, expect, it } from "vitest";
import { KEY, LeasedNode, WatchedStore } from "../../../test/wrappers/leased/leased-node.ts";
import { fixedWindow } from "../../algorithms/registry.ts";
import { ManualClock } from "../../testing/manual-clock.ts";

const rule = { name: "api", limit: fixedWindow("100/m") };

describe("a leased store, from window to window", () => {
  it("denies at once when the pool is empty, and does not ask it again before it is full", async () => {
    const node = new LeasedNode({ base: 50 });
    await node.takeMany(rule, 101);
    const { length } = node.pool.calls;
    await node.pool.clock.advance(15_000);
    const answers = node.store.apply("take", [{ rule, key: KEY, cost: 1 }]);
    expect(answers).toMatchObject([{ allowed: false, source: "lease", retryAfter: 45_000_000 }]);
    expect(node.pool.calls.filter((call) => call.startsWith("take"))).toHaveLength(length);
  });

  it("admits again exactly when the pool is full again", async () => {
    const node = new LeasedNode({ base: 50, idleMs: 100_000 });
    await node.takeMany(rule, 101);
    await node.pool.clock.advance(59_999);
    expect(await node.take(rule)).toMatchObject({ allowed: false });
    await node.pool.clock.advance(1);
    expect(await node.take(rule)).toMatchObject({ allowed: true });
  });

  it("spends nothing of a window that is past", async () => {
    const node = new LeasedNode({ base: 50, idleMs: 100_000 });
    await node.take(rule);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 50 });
    node.pool.clock.set(60_000);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 0 });
    await node.take(rule);
    expect(node.pool.left(rule, KEY)).toBe(49);
    expect(node.store.stats).toMatchObject({ burnt: 50 });
  });

  it("counts a lease of a window that a request opened to that window's end", async () => {
    const anchored = { name: "api", limit: fixedWindow("100/m", { anchor: "request" }) };
    const node = new LeasedNode({ base: 50, idleMs: 100_000 });
    await node.pool.clock.advance(10_000);
    await node.take(anchored);
    node.pool.clock.set(69_900);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 50 });
    node.pool.clock.set(70_000);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 0 });
  });

  it("counts a lease from when it was asked for, so that a slow reply makes it no longer", async () => {
    const pool = new WatchedStore(new ManualClock());
    const node = new LeasedNode({ base: 50, idleMs: 1_000_000 }, pool);
    const { apply } = pool;
    pool.apply = async (...call) => {
      const answers = await apply.apply(pool, call);
      await pool.clock.sleep(59_990);
      return answers;
    };
    const first = node.take(rule);
    await pool.clock.advance(59_990);
    // The store has charged the request itself; what came with it is worth nothing by now.
    expect(await first).toMatchObject({ allowed: true });
    expect(node.store.stats).toMatchObject({ spent: 1, burnt: 50, held: 0 });
  });

  it("notifies the other nodes when the pool is empty, so that they do not ask", async () => {
    const pool = new WatchedStore(new ManualClock());
    const [one, other] = [new LeasedNode({ base: 5 }, pool), new LeasedNode({ base: 5 }, pool)];
    await other.take(rule);
    await one.takeMany(rule, 200);
    await other.takeMany(rule, 5);
    const { length } = pool.calls;
    expect(await other.take(rule)).toMatchObject({ allowed: false });
    expect(pool.calls).toHaveLength(length);
  });

  it("also notifies them when quota was returned", async () => {
    const pool = new WatchedStore(new ManualClock());
    const [one, other] = [new LeasedNode({ base: 5 }, pool), new LeasedNode({ base: 20, idleMs: 500 }, pool)];
    await other.take(rule);
    expect(await one.takeMany(rule, 200)).toBe(79);
    await pool.clock.advance(1_000);
    expect(await one.takeMany(rule, 200)).toBe(20);
  });

  it("heeds no news that makes no sense", async () => {
    const pool = new WatchedStore(new ManualClock());
    const node = new LeasedNode({ base: 5 }, pool);
    await node.take(rule);
    for (const text of ["", "null", "[]", "{}", '{"empty":1}', '{"empty":["a","b"]}', '{"now":"never"}']) {
      pool.notifications.post('["api","user:1"]', text);
    }
    expect(await node.takeMany(rule, 50)).toBe(50);
  });
});

describe("a leased store, from month to month", () => {
  it("spends nothing of a month that is past, however long it was", async () => {
    const budget = { name: "api", limit: fixedWindow("100/month", { timeZone: "Europe/Berlin" }) };
    const pool = new WatchedStore(new ManualClock(Date.parse("2026-03-01T12:00Z")));
    const node = new LeasedNode({ base: 50, idleMs: 2_000_000_000 }, pool);
    await node.take(budget);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 50 });
    // A lease ends a little early, because clocks drift.
    pool.clock.set(Date.parse("2026-03-31T20:00Z"));
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 50 });
    pool.clock.set(Date.parse("2026-03-31T22:00Z"));
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 0 });
    await node.take(budget);
    expect(pool.left(budget, KEY)).toBe(49);
    expect(node.store.stats).toMatchObject({ burnt: 50 });
  });
});
