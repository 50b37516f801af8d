import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import type { RedisServer } from "headgate-testkit/redis-server";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fixedWindow, type Rule } from "../../../../src/index.ts";
import { clusterOptions, RedisStore } from "../../../../src/redis.ts";
import { slotOf } from "../../../../src/stores/redis/cluster-slots.ts";
import { ask, operation, remaining } from "../../conformance/context.ts";
import { moveSlot } from "../slot-migration.ts";
import { charged, counted, counts, Traffic, take } from "./calls.ts";

const keys = Array.from({ length: 60 }, (_, i) => `user${i}`);

describe("a cluster", () => {
  let cluster: RedisCluster;
  let client: Cluster;
  let store: RedisStore;
  beforeAll(async () => {
    cluster = await startCluster();
    client = new Cluster(cluster.addresses, clusterOptions);
    store = new RedisStore(client);
    for (const key of keys) await take(store, key);
  });
  afterAll(async () => {
    client?.disconnect();
    await cluster?.stop();
  });

  async function charges(of: readonly string[] = keys): Promise<Record<string, number>> {
    return Object.fromEntries(await Promise.all(of.map(async (key) => [key, await charged(store, key)])));
  }

  it("a burst before the client is connected: every call is answered", async () => {
    const fresh = new Cluster(cluster.addresses, clusterOptions);
    const early = new RedisStore(fresh, { maxBatch: 5 });
    const burst = [0, 1, 2].map(async (round) => {
      await delay(round);
      return Promise.all(keys.map((key) => take(early, `${key}-early`)));
    });
    const ends = (await Promise.all(burst)).flat();
    fresh.disconnect();
    expect(counts(ends)).toEqual({ allowed: 3 * keys.length });
  });

  it("a request with different keys: HG_KEYS_APART, and nothing is sent", async () => {
    const before = await charges();
    const apart = (): unknown => store.apply("take", [operation(counted, "user1"), operation(counted, "user2")]);
    expect(apart).toThrow(expect.objectContaining({ code: "HG_KEYS_APART", field: "checks[1].key" }));
    expect(await charges()).toEqual(before);
  });

  it("the requests of a tick: one call to each master, and each is charged once", async () => {
    const before = await charges();
    const masters = await cluster.masters();
    await Promise.all(masters.map((master) => master.ask("CONFIG", "RESETSTAT")));
    const ends = await Promise.all(keys.map((key) => take(store, key)));
    expect(counts(ends)).toEqual({ allowed: keys.length });
    for (const master of masters) {
      expect(await master.ask("INFO", "commandstats")).toMatch(/cmdstat_evalsha:calls=1,/);
    }
    expect(await charges()).toEqual(Object.fromEntries(keys.map((key) => [key, before[key] + 1])));
  });

  it("the script gone from one node only: no caller notices, and each call is charged once", async () => {
    const before = await charges();
    const [master] = await cluster.masters();
    await master.ask("SCRIPT", "FLUSH");
    const ends = await Promise.all(keys.map((key) => take(store, key)));
    expect(counts(ends)).toEqual({ allowed: keys.length });
    expect(await charges()).toEqual(Object.fromEntries(keys.map((key) => [key, before[key] + 1])));
  });

  it("one master that may evict counters: a warning, once", async () => {
    const warnings: (Error & { code?: string })[] = [];
    const keep = (warning: Error): void => {
      warnings.push(warning);
    };
    process.on("warning", keep);
    const [, master] = await cluster.masters();
    await master.ask("CONFIG", "SET", "maxmemory-policy", "volatile-ttl");
    await master.ask("CONFIG", "SET", "maxmemory", "100mb");
    new RedisStore(client);
    await eventually("the warning is there", async () => warnings.length > 0);
    await master.ask("CONFIG", "SET", "maxmemory", "0");
    process.off("warning", keep);
    expect(warnings.map(({ code }) => code)).toEqual(["HG_EVICTION"]);
    expect(warnings[0].message).toContain("volatile-ttl");
  });

  /** Moves a slot by hand, step by step. */
  async function ends(key: string): Promise<{ from: RedisServer; to: RedisServer }> {
    const from = await cluster.masterOf(key);
    const to = (await cluster.masters()).find((master) => master !== from);
    if (to === undefined) throw new Error("there is one master only");
    return { from, to };
  }

  it("a slot that moves while batches span it: every request is answered, and charged once", async () => {
    const moving = "user7";
    const { from, to } = await ends(moving);
    const slot = await moveSlot(slotOf(moving), from, to);
    const before = await charges();
    let rounds = 0;
    const round = async () => {
      rounds += 1;
      expect(counts(await Promise.all(keys.map((key) => take(store, key))))).toEqual({ allowed: keys.length });
    };
    await round();
    await slot.open();
    await round();
    await slot.migrateAll();
    await round();
    await slot.close();
    await round();
    await round();
    expect(await charges()).toEqual(Object.fromEntries(keys.map((key) => [key, before[key] + rounds])));
    expect((await cluster.masterOf(moving)).port).toBe(to.port);
  });

  it("a slot that moves under load: no call fails, and each is charged once", async () => {
    const moving = "user9";
    const { from, to } = await ends(moving);
    const slot = await moveSlot(slotOf(moving), from, to);
    const before = await charges();
    const traffic = new Traffic(store, keys, 1);
    await delay(50);
    await slot.open();
    await delay(50);
    await slot.migrateAll();
    await delay(50);
    await slot.close();
    await delay(50);
    const calls = await traffic.stop();
    expect(counts(calls)).toEqual({ allowed: calls.length });
    const after = await charges();
    expect(keys.reduce((sum, key) => sum + after[key] - before[key], 0)).toBe(calls.length);
  });

  it("a master that changes places with its replica under load: calls fail for a moment at most, and none is charged twice", async () => {
    const master = await cluster.masterOf("user1");
    const [replica] = await cluster.replicasOf(master);
    const before = await charges();
    const traffic = new Traffic(store, keys, 1);
    await delay(50);
    await replica.ask("CLUSTER", "FAILOVER");
    await eventually("the replica takes over", async () => (await cluster.masterOf("user1")) === replica);
    const over = performance.now();
    await delay(1_500);
    const calls = await traffic.stop();
    expect(calls.filter(({ as }) => as === "HG_STORE_REFUSED").map(({ message }) => message)).toEqual([]);
    expect(counts(calls.filter(({ begun }) => begun > over + 1_000))).toEqual({ allowed: expect.any(Number) });
    const after = await charges();
    const all = keys.reduce((sum, key) => sum + after[key] - before[key], 0);
    expect(all).toBeGreaterThanOrEqual(calls.filter(({ as }) => as === "allowed").length);
    expect(all).toBeLessThanOrEqual(calls.length);
  });

  it("an identity of which one counter has moved and one has not: each is answered from where it is", async () => {
    const moving = "user11";
    const rules: Rule[] = ["x", "y"].map((name) => ({ name, limit: fixedWindow("10/d", { anchor: "request" }) }));
    for (const rule of rules) for (let i = 0; i < 4; i += 1) await ask(store, "take", rule, moving);
    const { from, to } = await ends(moving);
    const slot = await moveSlot(slotOf(moving), from, to);
    await slot.open();
    const [x, y] = rules;
    await slot.migrate([`rl:{${moving}}:x:fixed_window`]);
    const answers = await Promise.all([
      ask(store, "take", x, moving),
      ask(store, "take", y, moving),
      ask(store, "take", x, moving),
      ask(store, "take", y, moving),
    ]);
    expect(answers.map(({ remaining }) => remaining)).toEqual([5, 5, 4, 4]);
    // Both at once wait until both are there.
    const both = store.apply("take", [operation(x, moving), operation(y, moving)]);
    await slot.migrateAll();
    expect((await both).map(({ remaining }) => remaining)).toEqual([3, 3]);
    await slot.close();
    expect([await remaining(store, x, moving), await remaining(store, y, moving)]).toEqual([3, 3]);
  });
});
