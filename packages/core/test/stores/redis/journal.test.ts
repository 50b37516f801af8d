import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fixedWindow, rateLimiter, StoreError } from "../../../src/index.ts";
import { RateLimitMiddleware } from "../../../src/middleware/middleware.ts";
import { clusterOptions, RedisStore, type RedisStoreOptions } from "../../../src/redis.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { face } from "../../middleware/request.ts";
import { passed } from "../../middleware/test-middleware.ts";
import { callsOf, PATIENCE_MS, useRedis } from "./redis.ts";

const redis = useRedis();
let cluster: RedisCluster;
let client: Cluster;
let stores = 0;

beforeAll(async () => {
  cluster = await startCluster();
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

function onCluster(options: RedisStoreOptions): RedisStore {
  stores += 1;
  return new RedisStore(client, { prefix: `test${stores}`, timeoutMs: PATIENCE_MS, ...options });
}

describe.each([
  ["Redis", (options: RedisStoreOptions) => redis.store(options)],
  ["a Redis Cluster", onCluster],
])("the journal of holds in %s", (_name, newStore) => {
  it("hands out holds whose time is over, until they are removed", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const { journal: holds } = newStore({ clock });
    await holds.add({ id: "a", text: "first ✓ \u0000 \ud83d\ude00" }, 1_000);
    await holds.add({ id: "b", text: "second" }, 2_000.5);
    expect(await holds.overdue(10)).toEqual([]);
    await clock.advance(999.999);
    expect(await holds.overdue(10)).toEqual([]);
    await clock.advance(0.001);
    expect(await holds.overdue(10)).toEqual([{ id: "a", text: "first ✓ \u0000 \ud83d\ude00" }]);
    await clock.advance(1_001);
    expect(await holds.overdue(1)).toEqual([{ id: "a", text: "first ✓ \u0000 \ud83d\ude00" }]);
    await holds.remove(["a", "unknown"]);
    expect(await holds.overdue(10)).toEqual([{ id: "b", text: "second" }]);
    await holds.remove(["b"]);
    expect(await holds.overdue(10)).toEqual([]);
  });

  it("puts off the ends of those that are there, and tells which", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const { journal: holds } = newStore({ clock });
    await holds.add({ id: "a", text: "A" }, 1_000);
    await holds.add({ id: "b", text: "B" }, 1_000);
    await clock.advance(500);
    expect(await holds.extend(["gone", "a"], 1_000)).toEqual(["a"]);
    await clock.advance(500);
    expect(await holds.overdue(10)).toEqual([{ id: "b", text: "B" }]);
    await clock.advance(500);
    expect((await holds.overdue(10)).map(({ id }) => id).sort()).toEqual(["a", "b"]);
  });

  it("goes by the server's clock", async () => {
    const { journal: holds } = newStore({});
    await holds.add({ id: "over", text: "" }, 0);
    await holds.add({ id: "open", text: "" }, 60_000);
    expect(await holds.overdue(10)).toEqual([{ id: "over", text: "" }]);
  });

  it("releases what was reserved under several limits", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const store = newStore({ clock });
    const rules = { tokens: fixedWindow("100/d"), calls: fixedWindow("10/d") };
    const gateOf = (own: ManualClock) => {
      const limiter = rateLimiter(rules, { store, clock: own });
      const options = { rules: ["calls", { rule: "tokens", reserve: 60 }], proxies: 0, clock: own } as const;
      return { limiter, gate: new RateLimitMiddleware(limiter, options, face) };
    };
    passed(await gateOf(new ManualClock()).gate.admit({ peer: "1.2.3.4" }));
    const { limiter } = gateOf(clock);
    expect(await limiter.peek("tokens", "ip:1.2.3.4")).toMatchObject({ remaining: 40 });
    await clock.advance(61_000);
    while ((await store.journal.overdue(1)).length > 0) await clock.advance(5_000);
    expect(await limiter.peek("tokens", "ip:1.2.3.4")).toMatchObject({ remaining: 100 });
    expect(await limiter.peek("calls", "ip:1.2.3.4")).toMatchObject({ remaining: 9 });
  });
});

describe("the journal of holds", () => {
  it("is kept under the store's prefix, and not for ever", async () => {
    const prefix = redis.newPrefix();
    const { journal: holds } = redis.store({ prefix });
    await holds.add({ id: "a", text: "A" }, 60_000);
    const keys = (await redis.server.ask("KEYS", `${prefix}:*`)).split("\n").sort();
    expect(keys).toEqual([`${prefix}:{%holds}:ends`, `${prefix}:{%holds}:texts`]);
    for (const key of keys) expect(Number(await redis.server.ask("PTTL", key))).toBeGreaterThan(60_000);
  });

  it("costs a request that reserves one call more, and any other none", async () => {
    const store = redis.store();
    await store.ready();
    const clock = new ManualClock();
    const limiter = rateLimiter({ api: fixedWindow("100/d") }, { store, clock });
    const gateOf = (reserve: object) => {
      return new RateLimitMiddleware(
        limiter,
        { rules: { rule: "api", ...reserve }, refundOn: "5xx", proxies: 0, clock },
        face,
      );
    };
    const [plain, reserving] = [gateOf({}), gateOf({ reserve: 2 })];
    await reserving.admit({ peer: "1.2.3.4" });
    const calls = async (gate: typeof plain): Promise<number> => {
      const before = await callsOf("evalsha", redis.server);
      passed(await gate.admit({ peer: "1.2.3.4" }));
      return (await callsOf("evalsha", redis.server)) - before;
    };
    expect(await calls(plain)).toBe(1);
    expect(await calls(reserving)).toBe(2);
  });

  it("fails as a store does: when it is closed, and when Redis is gone or frozen", async () => {
    const store = new RedisStore(redis.server.url, { timeoutMs: 200 });
    await store.ready();
    const frozen = new RedisStore(redis.server.url, { timeoutMs: 200 });
    await frozen.ready();
    redis.server.pause();
    const late = frozen.journal.overdue(1);
    await expect(late).rejects.toBeInstanceOf(StoreError);
    await expect(late).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    redis.server.resume();
    expect(store.journal.isClosed).toBe(false);
    await Promise.all([store.close(), frozen.close()]);
    expect(store.journal.isClosed).toBe(true);
    await expect(store.journal.overdue(1)).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    const gone = new RedisStore("redis://127.0.0.1:1");
    await expect(gone.journal.extend(["a"], 1)).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    await gone.close();
  });
});
