import { type DegradedChange, fixedWindow } from "headgate";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openStores, type StoreHooks, type Stores } from "../../src/checks/counter-stores.ts";
import type { RateLimitRule } from "../../src/rules/rule.ts";
import { request, rule, userData, type World, world } from "./fixtures.ts";

let server: RedisServer;
let redis: Redis;
const opened: Stores[] = [];

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
});
afterEach(async () => {
  for (const stores of opened.splice(0)) await stores.close();
});

async function open(url = server.url, hooks: StoreHooks = {}): Promise<Stores> {
  const stores = await openStores({ redis: url, zookeeper: undefined, nodes: 1 }, hooks);
  opened.push(stores);
  await stores.ready();
  return stores;
}

async function node(...rules: RateLimitRule[]): Promise<World> {
  return world(rules, { stores: () => open() });
}

async function counts(world: World, times: number, asked = request()): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let i = 0; i < times; i += 1) seen.push((await world.service.check(asked)).decisive?.current_count);
  return seen;
}

const hour = { window_seconds: 3_600, limit: 100 };

describe("checks on Redis", () => {
  it("are counted together by all nodes, under a key that says what it is", async () => {
    const one = await node(rule(hour));
    const other = await node(rule(hour));
    expect(await counts(one, 2)).toEqual([1, 2]);
    expect(await counts(other, 2)).toEqual([3, 4]);
    expect(await redis.keys("*")).toEqual(["rl:{user:42}:3600:/**:fixed_window"]);
  });

  it("report the skew against Redis's clock", async () => {
    const { service } = await node(rule(hour));
    const { skew_ms, skewed } = await service.check(request({ timestamp: Date.now() - 5_000 }));
    expect(skew_ms).toBeGreaterThan(-6_000);
    expect(skew_ms).toBeLessThan(-4_000);
    expect(skewed).toBe(true);
  });

  it("remember an idempotency key on every node", async () => {
    const one = await node(rule(hour));
    const other = await node(rule(hour));
    const asked = request({ idempotencyKey: "once" });
    await one.service.check(asked);
    expect(await counts(other, 1, asked)).toEqual([1]);
    await expect(other.service.check({ ...asked, cost: 2 })).rejects.toMatchObject({ code: "HG_IDEMPOTENCY_CONFLICT" });
  });

  it("keep what a user has used when the tier changes, whatever others do in between", async () => {
    const premium = rule({ ...hour, rule_id: "premium", tier: "premium", limit: 200 });
    const world = await node(rule(hour), premium, rule({ ...hour, rule_id: "keys", dimension: "apikey", limit: 7 }));
    expect(await counts(world, 2)).toEqual([1, 2]);
    expect(await counts(world, 1, request({ dimension: "apikey" }))).toEqual([1]);
    world.users.set("42", userData("42", { tier: "premium" }));
    world.userDataCache.changed({ kind: "user", user_id: "42" });
    expect(await counts(world, 1)).toEqual([3]);
  });

  it.each(["strict", "cached", "leased"] as const)(
    "that are %s let no more pass than the limit",
    async (consistency) => {
      const { service } = await node(rule({ ...hour, consistency, limit: 50 }));
      let passed = 0;
      const sources = new Set<unknown>();
      for (let i = 0; i < 120; i += 1) {
        const { allowed, decisive } = await service.check(request());
        sources.add(decisive?.source);
        if (allowed) passed += 1;
      }
      expect(passed).toBe(50);
      expect([...sources]).toContain({ strict: "store", cached: "cache", leased: "lease" }[consistency]);
    },
  );

  it("that are cached are written to Redis before the stores are closed, and leases are given back", async () => {
    const cached = rule({ ...hour, consistency: "cached" });
    const leased = rule({ ...hour, rule_id: "leased", dimension: "apikey", consistency: "leased" });
    const { service, stores } = await node(cached, leased);
    for (let i = 0; i < 30; i += 1) {
      await service.check(request());
      await service.check(request({ dimension: "apikey" }));
    }
    await opened.splice(opened.indexOf(stores), 1)[0].close();
    const after = await node(rule(hour), rule({ ...hour, rule_id: "keys", dimension: "apikey" }));
    expect((await after.service.peek(request())).decisive).toMatchObject({ current_count: 30 });
    expect((await after.service.peek(request({ dimension: "apikey" }))).decisive).toMatchObject({ current_count: 30 });
  });

  it("under a leased rule of which no quota can be held are decided by Redis", async () => {
    const world = await node(rule({ ...hour, consistency: "leased", algorithm: "sliding_window_log" }));
    expect(await counts(world, 20)).toHaveLength(20);
    expect((await world.service.check(request())).decisive).toMatchObject({ source: "store" });
  });

  it("under limits of several consistencies go as one to Redis, all or nothing", async () => {
    const world = await node(
      rule({ ...hour, limit: 2 }),
      rule({ ...hour, rule_id: "cached", endpoint_pattern: "/api/**", consistency: "cached" }),
    );
    await counts(world, 5);
    const { allowed, limits } = await world.service.check(request());
    expect(allowed).toBe(false);
    expect(limits.map(({ current_count, source }) => [current_count, source])).toEqual([
      [2, "store"],
      [2, "store"],
    ]);
  });

  it("of one user under cached rules do not make others forget that they are limited", async () => {
    const premium = rule({ ...hour, rule_id: "premium", tier: "premium", consistency: "cached", limit: 1_000 });
    const { service, users, stores } = await node(rule({ ...hour, consistency: "cached", limit: 1 }), premium);
    users.set("7", userData("7", { tier: "premium" }));
    await service.check(request());
    await service.check(request({ identifier: "7" }));
    await vi.waitFor(async () => {
      await service.check(request({ cost: 1 }));
      expect(stores.stats.cached?.().limitedKeys).toBe(1);
    });
    for (let i = 0; i < 5; i += 1) await service.check(request({ identifier: "7" }));
    expect(stores.stats.cached?.().limitedKeys).toBe(1);
  });

  it("are reset on every node, whatever the consistency", async () => {
    const rules = (["strict", "cached", "leased"] as const).map((consistency) =>
      rule({ ...hour, rule_id: consistency, endpoint_pattern: `/${consistency}`, consistency, limit: 30 }),
    );
    const { service } = await node(...rules);
    for (const { endpoint_pattern: endpoint } of rules) {
      for (let i = 0; i < 31; i += 1) await service.check(request({ endpoint }));
      expect(await service.check(request({ endpoint }))).toMatchObject({ allowed: false });
    }
    await service.reset({ identifier: "42", dimension: "user" }, { id: "a", name: "a" });
    for (const { endpoint_pattern: endpoint } of rules) {
      expect(await service.check(request({ endpoint }))).toMatchObject({ allowed: true });
    }
  });
});

describe("when Redis is gone", () => {
  let mortal: RedisServer;
  beforeEach(async () => {
    mortal = await startRedis();
  });
  afterEach(async () => {
    await mortal.stop();
  });

  it("each rule follows its on_error, and reports it; a reset fails", async () => {
    const failures: string[] = [];
    const changes: boolean[] = [];
    const hooks: StoreHooks = {
      onFailure: (code) => failures.push(code),
      onDegraded: ({ degraded }) => changes.push(degraded),
    };
    const rules = (["allow", "deny", "local"] as const).map((on_error) =>
      rule({ ...hour, rule_id: on_error, endpoint_pattern: `/${on_error}`, on_error, limit: 3 }),
    );
    const { service } = await world(rules, { stores: () => open(mortal.url, hooks) });
    const answers = async (endpoint: string, identifier = "42"): Promise<unknown[]> => {
      const seen: unknown[] = [];
      for (let i = 0; i < 4; i += 1) seen.push((await service.check(request({ endpoint, identifier }))).allowed);
      return seen;
    };
    expect(await answers("/local")).toEqual([true, true, true, false]);
    await mortal.kill();
    expect(await answers("/allow")).toEqual([true, true, true, true]);
    expect(await answers("/deny")).toEqual([false, false, false, false]);
    expect(await answers("/local", "43")).toEqual([true, true, true, false]);
    // The store has denied this one, and the outage does not change that.
    expect(await answers("/local")).toEqual([false, false, false, false]);
    const { decisive } = await service.check(request({ endpoint: "/allow" }));
    expect(decisive).toMatchObject({ source: "fallback", degraded: true });
    await expect(service.reset({ identifier: "42", dimension: "user" }, { id: "a", name: "a" })).rejects.toMatchObject({
      code: expect.stringMatching(/^HG_STORE_/),
    });
    expect(failures.length).toBeGreaterThanOrEqual(5);
    expect(changes).toEqual([true]);
  });

  it("no check waits for it longer than the settings say", async () => {
    const causes: unknown[] = [];
    const onDegraded = (change: DegradedChange) => void causes.push(change.degraded && change.cause);
    const settings = { redis: mortal.url, zookeeper: undefined, nodes: 1, storeTimeoutMs: 40 };
    const stores = await openStores(settings, { onDegraded });
    opened.push(stores);
    await stores.ready();
    mortal.pause();
    const { service } = await world([rule(hour)], { stores: async () => stores });
    for (let i = 0; i < 5; i += 1) await service.check(request());
    mortal.resume();
    expect(causes).toEqual([expect.objectContaining({ message: "store: did not answer within 40 ms" })]);
  });

  it("no node is ready", async () => {
    await mortal.kill();
    const stores = await openStores({ redis: mortal.url, zookeeper: undefined, nodes: 1 }, {});
    opened.push(stores);
    await expect(stores.ready()).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
  });
});

describe("the settings of cached and leased rules", () => {
  it("are those of the stores: a lease takes as many units as lease_base says", async () => {
    const stores = await openStores({ redis: server.url, zookeeper: undefined, nodes: 1, leaseBase: 123 });
    opened.push(stores);
    const leasedRule = { name: "lease-base", limit: fixedWindow("100000/h") };
    const remaining = async (): Promise<number> => {
      const [answer] = await stores.strict.apply("peek", [{ rule: leasedRule, key: "k", cost: 1 }]);
      return answer.remaining;
    };
    // A key is leased for after some requests.
    const used: number[] = [];
    for (let i = 0; i < 20; i += 1) {
      const before = await remaining();
      await stores.leased.apply("take", [{ rule: leasedRule, key: "k", cost: 1 }]);
      used.push(before - (await remaining()));
    }
    // The request that brings the first lease is charged besides.
    expect(Math.max(...used)).toBe(124);
  });

  it("are those of the stores: cached_read asks the store before each request", async () => {
    const settings = { redis: server.url, zookeeper: undefined, nodes: 1 };
    const cachedRule = { name: "cached-read", limit: fixedWindow("100000/h") };
    const isAsked = async (cachedRead: boolean): Promise<boolean> => {
      const stores = await openStores({ ...settings, cachedRead });
      opened.push(stores);
      const operation = { rule: cachedRule, key: "k", cost: 1 };
      for (let i = 0; i < 3; i += 1) await stores.cached.apply("take", [operation]);
      const last = stores.cached.apply("take", [operation]);
      await last;
      return last instanceof Promise;
    };
    expect([await isAsked(false), await isAsked(true)]).toEqual([false, true]);
  });
});
