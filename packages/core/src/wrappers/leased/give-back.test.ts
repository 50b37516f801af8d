import { describe, expect, it } from "vitest";
import { KEY, LeasedNode } from "../../../test/wrappers/leased/leased-node.ts";
import { fixedWindow } from "../../algorithms/registry.ts";
import { StoreError } from "../../errors.ts";
import { limitText } from "../../limits/limit.ts";
import type { Rule } from "../../stores/store.ts";

const rule = { name: "api", limit: fixedWindow("100/m") };

describe("a leased store, returning quota", () => {
  it("returns all that a key holds when it has been idle, and forgets it", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 500 });
    await node.take(rule);
    await node.pool.clock.advance(1_000);
    expect(node.pool.calls).toEqual(["take 11", "refund 10"]);
    expect(node.pool.left(rule, KEY)).toBe(99);
    await node.pool.clock.advance(1_000);
    expect(node.store.stats).toMatchObject({ leases: 0, returned: 10, held: 0 });
  });

  it("returns what exceeds two batches from time to time", async () => {
    const node = new LeasedNode({ base: 10, giveBackEveryMs: 1_000, idleMs: 30_000 });
    await node.take(rule);
    await node.take(rule, 11);
    await node.take(rule, 21);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 30 });
    await node.pool.clock.advance(1_000);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 20 });
    expect(node.pool.left(rule, KEY)).toBe(47);
  });

  it("keeps trying to return quota while the store is unreachable for a few seconds", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 500 });
    await node.take(rule);
    node.pool.fails = () => new StoreError("HG_STORE_UNREACHABLE", "is gone");
    await node.pool.clock.advance(3_000);
    node.pool.fails = undefined;
    await node.pool.clock.advance(5_000);
    expect(node.store.stats).toMatchObject({ held: 0, returning: 0, returned: 10, burnt: 0 });
    expect(node.pool.left(rule, KEY)).toBe(99);
  });

  it("does not wait long for a store that is gone when it is closed", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    node.pool.fails = () => new StoreError("HG_STORE_UNREACHABLE", "is gone");
    const closed = node.store.close();
    await node.pool.clock.advance(400);
    await closed;
    expect(node.store.stats).toMatchObject({ held: 0, burnt: 10 });
  });

  it("returns everything when it is closed", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    await node.store.close();
    expect(node.pool.left(rule, KEY)).toBe(99);
  });

  it("decides nothing any more once it is closed", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    await node.store.close();
    await expect(node.take(rule)).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
  });

  it("handles each of the limits under one name, also one that had no lease for a while", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 500, promoteAfter: 2 });
    const other = { name: "api", limit: fixedWindow("50/m") };
    await node.take(rule);
    await node.take(other);
    await node.take(rule);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 10 });
    await node.pool.clock.advance(2_000);
    expect(node.store.stats).toMatchObject({ leases: 0, held: 0, returned: 10 });
  });

  it("gives nothing back so late that it could reach the next window", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 30_000 });
    await node.pool.clock.advance(59_970);
    await node.take(rule);
    await node.pool.clock.advance(22);
    await node.store.close();
    expect(node.pool.calls).toEqual(["take 11"]);
    expect(node.store.stats).toMatchObject({ burnt: 10 });
  });

  it("returns what it holds under the old limit when a limit changes", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    const lowered = { name: "api", limit: fixedWindow("5/m") };
    expect(await node.takeMany(lowered, 10)).toBe(4);
    expect(node.pool.left(lowered, KEY)).toBe(0);
  });

  it("throws away what it holds of windows that are of another length now, at once", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 500 });
    await node.take(rule);
    const hourly = { name: "api", limit: fixedWindow("50/h") };
    node.store.open(hourly);
    await node.pool.apply("take", [{ rule: hourly, key: KEY, cost: 5 }]);
    const used = 50 - node.pool.left(hourly, KEY);
    await node.pool.clock.advance(5_000);
    expect(node.store.stats).toMatchObject({ held: 0, burnt: 10, returned: 0 });
    expect(50 - node.pool.left(hourly, KEY)).toBe(used);
  });

  it("throws away what it holds when a key is reset: the pool is full again", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    await node.store.apply("reset", [{ rule, key: KEY, cost: 1 }]);
    expect(node.pool.left(rule, KEY)).toBe(100);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 0 });
  });

  it("asks again after a refund", async () => {
    const node = new LeasedNode({ base: 50 });
    await node.takeMany(rule, 101);
    await node.store.apply("refund", [{ rule, key: KEY, cost: 3 }]);
    expect(await node.takeMany(rule, 10)).toBe(3);
  });

  it("ignores late news of an empty pool that was refilled since, and corrects it for other nodes", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 60_000 });
    await node.takeMany(rule, 91);
    const seenAt = node.pool.clock.now();
    const topic = JSON.stringify(["api", KEY]);
    const empty = emptyNotification(rule, seenAt, 60_000);
    await node.pool.clock.advance(100);
    await node.store.apply("refund", [{ rule, key: KEY, cost: 3 }]);
    const heard: string[] = [];
    node.pool.notifications.subscribe(topic, (text) => heard.push(text));
    node.pool.notifications.post(topic, empty);
    expect(heard).toHaveLength(2);
    expect(heard).toContainEqual(expect.stringContaining("filled"));
    expect(await node.takeMany(rule, 20)).toBe(12);
  });

  it("accepts news of an empty pool that is later than its own", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 60_000 });
    await node.take(rule);
    await node.store.apply("refund", [{ rule, key: KEY, cost: 1 }]);
    await node.pool.clock.advance(100);
    const now = node.pool.clock.now();
    node.pool.notifications.post(JSON.stringify(["api", KEY]), emptyNotification(rule, now, 1_000));
    expect(await node.takeMany(rule, 20)).toBe(10);
  });

  it("asks for itself where the pool was empty under another limit", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 60_000 });
    await node.take(rule);
    const lower = { name: "api", limit: fixedWindow("10/m") };
    node.pool.notifications.post(JSON.stringify(["api", KEY]), emptyNotification(lower, node.pool.clock.now(), 60_000));
    expect(await node.takeMany(rule, 110)).toBe(99);
  });

  it("does not ask forever if a message says that the pool was refilled in the future", async () => {
    const node = new LeasedNode({ base: 10, idleMs: 60_000 });
    await node.take(rule);
    node.pool.notifications.post(JSON.stringify(["api", KEY]), JSON.stringify({ filled: 1e18 }));
    expect(await node.takeMany(rule, 110)).toBe(99);
  });

  it("shows in a peek what the pool has and what is held here", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(rule);
    const [answer] = await node.store.apply("peek", [{ rule, key: KEY, cost: 1 }]);
    expect(answer).toMatchObject({ allowed: true, remaining: 99, lease: { held: 10, pool: 89, epoch: 1 } });
  });
});

/** What another node posts that was refused one unit. */
function emptyNotification({ limit }: Rule, now: number, forMs: number): string {
  return JSON.stringify({ empty: [1, now + 1_000 * forMs, now], under: limitText(limit) });
}
