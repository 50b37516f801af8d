import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import type { RedisServer } from "headgate-testkit/redis-server";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bucketedWindow, gcra, rateLimiter } from "../../../src/index.ts";
import { clusterOptions, RedisStore, type RedisStoreOptions } from "../../../src/redis.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { ask, rule } from "../conformance/context.ts";
import { slotConformance } from "../slot-conformance.ts";
import { storeConformance } from "../store-conformance.ts";
import { callsOf, PATIENCE_MS } from "./redis.ts";

let cluster: RedisCluster;
let masters: RedisServer[];
let client: Cluster;
let stores = 0;

beforeAll(async () => {
  cluster = await startCluster();
  masters = await cluster.masters();
  const { redisOptions } = clusterOptions;
  client = new Cluster(cluster.addresses, {
    ...clusterOptions,
    redisOptions: { ...redisOptions, socketTimeout: PATIENCE_MS },
  });
  await new Promise((resolve) => client.once("ready", resolve));
});
afterAll(async () => {
  client?.disconnect();
  await cluster?.stop();
});

function newStore(options: RedisStoreOptions = {}): RedisStore {
  stores += 1;
  return new RedisStore(client, { prefix: `test${stores}`, timeoutMs: PATIENCE_MS, ...options });
}

for (const conformance of [storeConformance, slotConformance]) {
  conformance("RedisStore on a cluster, by its own clock", async () => {
    const store = newStore();
    await store.ready();
    return { store, acrossKeys: false };
  });

  conformance("RedisStore on a cluster", () => {
    const clock = new ManualClock(1_700_000_000_123.457);
    return { store: newStore({ clock }), clock, acrossKeys: false };
  });
}

describe("a request on a cluster", () => {
  it("is answered from the first on, while the connections to the nodes are still being made", async () => {
    const fresh = new Cluster(cluster.addresses, clusterOptions);
    const store = new RedisStore(fresh, { prefix: "fresh", timeoutMs: PATIENCE_MS });
    const five = rule("five", gcra("5/s"));
    const asked: Promise<string>[] = [];
    for (let i = 0; i < 50; i += 1) {
      asked.push(
        ask(store, "take", five, `k${i}`).then(
          () => "answered",
          (error) => error.message,
        ),
      );
      // Each goes on its own.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await Promise.all(asked)).toEqual(new Array(50).fill("answered"));
    fresh.disconnect();
  });

  it("that names two keys is refused before anything is sent, and says why", async () => {
    const limiter = rateLimiter({ api: gcra("5/s"), mail: gcra("5/s") }, { store: newStore() });
    const spread = [
      { rule: "api", key: "ann" },
      { rule: "mail", key: "bob" },
    ] as const;
    const error = { code: "HG_KEYS_APART", field: "checks[1].key" };
    await expect(limiter.checkAll(spread)).rejects.toMatchObject(error);
    await expect(limiter.firstOf(spread)).rejects.toMatchObject(error);
    expect((await limiter.peek("api", "ann")).remaining).toBe(5);
  });
});

describe("a bucketed window with a queue for each user, sharded by user", () => {
  const users = Array.from({ length: 300 }, (_, i) => `user-${i}`);
  const rules = {
    second: bucketedWindow("5/s", { bucketWidthMs: 100 }),
    hour: bucketedWindow("3/h", { exact: true }),
  };

  it("keeps users on all masters, and all limits of one user in one slot", async () => {
    await Promise.all(masters.map((master) => master.ask("FLUSHALL")));
    const limiter = rateLimiter(rules, { store: newStore() });
    await Promise.all(
      users.map((key) =>
        limiter.checkAll([
          { rule: "second", key },
          { rule: "hour", key },
        ]),
      ),
    );
    const slots = new Map<string, Set<number>>();
    for (const master of masters) {
      const keys = (await master.ask("KEYS", "*")).split("\n");
      // A third of 600 each, were it even.
      expect(keys.length).toBeGreaterThan(100);
      const places = await Promise.all(keys.map((key) => client.cluster("KEYSLOT", key)));
      for (const [i, key] of keys.entries()) {
        const user = /\{(.*)\}/.exec(key)?.[1] ?? "";
        slots.set(user, (slots.get(user) ?? new Set()).add(places[i]));
      }
    }
    expect([...slots.keys()].sort()).toEqual([...users].sort());
    expect([...slots.values()].every(({ size }) => size === 1)).toBe(true);
  });

  it("counts each user separately, whichever master has the key", async () => {
    const limiter = rateLimiter(rules, { store: newStore() });
    for (let i = 0; i < 5; i += 1) {
      const decisions = await limiter.checkMany("hour", users);
      expect(decisions.every(({ allowed }) => allowed === i < 3)).toBe(true);
    }
  });

  it("asks each master once for all its users of a tick", async () => {
    const limiter = rateLimiter(rules, { store: newStore({ maxBatch: 256 }) });
    // The scripts are there.
    await limiter.checkMany("second", users);
    await Promise.all(masters.map((master) => master.ask("CONFIG", "RESETSTAT")));
    const decisions = await limiter.checkMany("second", users);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(users.length);
    expect(await Promise.all(masters.map((master) => callsOf("evalsha", master)))).toEqual([1, 1, 1]);
  });

  it("splits what is too much for one call", async () => {
    await Promise.all(masters.map((master) => master.ask("FLUSHALL")));
    await Promise.all(masters.map((master) => master.ask("CONFIG", "RESETSTAT")));
    const limiter = rateLimiter(rules, { store: newStore({ maxBatch: 50 }) });
    await limiter.checkMany("second", users);
    const calls = await Promise.all(masters.map((master) => callsOf("evalsha", master)));
    const keys = await Promise.all(masters.map(async (master) => Number(await master.ask("DBSIZE"))));
    // A master that is idle gets half a call first.
    expect(calls).toEqual(keys.map((count) => 1 + Math.ceil((count - 25) / 50)));
  });
});
