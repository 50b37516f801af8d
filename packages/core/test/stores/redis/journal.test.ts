import { eventually } from "headgate-testkit/eventually";
import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fixedWindow, rateLimiter, StoreError } from "../../../src/index.ts";
import { RateLimitMiddleware } from "../../../src/middleware/middleware.ts";
import { clusterOptions, RedisStore, type RedisStoreOptions } from "../../../src/redis.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { testAdapter } from "../../middleware/request.ts";
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
])("the journal of reservations in %s", (_name, newStore) => {
  it("returns entries whose time is over, until they have ended", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const { journal } = newStore({ clock });
    const first = { id: "a", text: "first ✓ \u0000 \ud83d\ude00", deadline: 1_700_000_001_000_000, isEnded: false };
    await journal.add(first, 1_000);
    await journal.add({ id: "b", text: "second" }, 2_000.5);
    expect(await journal.claimOverdue(10, 0)).toEqual([]);
    await clock.advance(999.999);
    expect(await journal.claimOverdue(10, 0)).toEqual([]);
    await clock.advance(0.001);
    expect(await journal.claimOverdue(10, 0)).toEqual([first]);
    await clock.advance(1_001);
    expect(await journal.list(1)).toEqual([first]);
    await journal.end([{ id: "a" }, { id: "unknown" }], 1_000);
    expect(await journal.claimOverdue(10, 0)).toMatchObject([{ id: "b", text: "second" }]);
    await journal.end([{ id: "b" }], 1_000);
    expect(await journal.claimOverdue(10, 0)).toEqual([]);
  });

  it("extends entries, never to an earlier time, and says what became of the others", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const { journal } = newStore({ clock });
    await journal.add({ id: "a", text: "A" }, 1_000);
    await journal.add({ id: "b", text: "B" }, 1_000);
    await journal.add({ id: "c", text: "C" }, 1_000);
    await journal.end([{ id: "c", text: "ended" }], 60_000);
    await clock.advance(500);
    const extensions = [{ id: "gone" }, { id: "a", text: "changed" }, { id: "c" }].map((each) => ({
      ...each,
      forMs: 1_000,
    }));
    expect(await journal.extend(extensions)).toEqual(["missing", "open", "ended"]);
    expect(await journal.extend([{ id: "a", forMs: 1 }])).toEqual(["open"]);
    await clock.advance(500);
    expect(await journal.claimOverdue(10, 0)).toMatchObject([{ id: "b", text: "B" }]);
    await clock.advance(500);
    expect(await journal.claimOverdue(10, 0)).toMatchObject([{ id: "b" }, { id: "a", text: "changed" }]);
  });

  it("lets one process at a time claim an expired entry, which cannot be extended any more", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const { journal } = newStore({ clock });
    for (const id of ["a", "b", "c"]) await journal.add({ id, text: id }, 1_000);
    await clock.advance(1_000);
    expect(await journal.extend([{ id: "c", forMs: 1_000 }])).toEqual(["open"]);
    const claimed = await Promise.all([journal.claimOverdue(10, 500), journal.claimOverdue(10, 500)]);
    expect(claimed.flat().map(({ id }) => id)).toEqual(["a", "b"]);
    expect(await journal.extend([{ id: "a", forMs: 1_000, text: "late" }])).toEqual(["ended"]);
    await journal.end([{ id: "b" }], 1_000);
    await clock.advance(500);
    // The process that claimed it has died.
    const again = { id: "a", text: "a", deadline: 1_700_000_001_000_000, isEnded: false };
    expect(await journal.claimOverdue(10, 500)).toEqual([again]);
    expect(await journal.find("a")).toEqual(again);
    expect(await journal.list(1)).toEqual([again]);
  });

  it("hands out many expired entries in portions", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const { journal } = newStore({ clock });
    const ids = Array.from({ length: 500 }, (_, i) => `${(i % 64).toString(16).padStart(2, "0")}${i}`);
    await Promise.all(ids.map((id) => journal.add({ id, text: "" }, 1_000)));
    await clock.advance(1_000);
    const found: string[] = [];
    for (;;) {
      const some = await journal.claimOverdue(100, 60_000);
      if (some.length === 0) break;
      expect(some.length).toBeLessThanOrEqual(450);
      found.push(...some.map(({ id }) => id));
    }
    expect(found.sort()).toEqual(ids.sort());
  });

  it("finds what is open, and what has ended for as long as it is kept; an entry that has ended is not added again", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const { journal } = newStore({ clock });
    await journal.add({ id: "a", text: "A" }, 1_000);
    expect(await journal.find("a")).toEqual({ id: "a", text: "A", deadline: 1_700_000_001_000_000, isEnded: false });
    await journal.end([{ id: "a", text: "ended" }], 60_000);
    await journal.restore({ id: "a", text: "A" }, 1_000);
    expect(await journal.find("a")).toMatchObject({ text: "ended", isEnded: true });
    expect(await journal.find("{b}:\u0000")).toBeUndefined();
    await journal.end([{ id: "b", text: "B" }], 1);
    await eventually("it is forgotten", async () => (await journal.find("b")) === undefined);
  });

  it("lists entries by their deadlines", async () => {
    const { journal } = newStore({});
    const ids = Array.from({ length: 100 }, (_, i) => `id${i}`);
    await Promise.all(ids.map((id, i) => journal.add({ id, text: "" }, 60_000 - 100 * i)));
    expect((await journal.list(40)).map(({ id }) => id)).toEqual([...ids].reverse().slice(0, 40));
  });

  it("goes by the server's clock", async () => {
    const { journal } = newStore({});
    await journal.add({ id: "over", text: "" }, 0);
    await journal.add({ id: "open", text: "" }, 60_000);
    expect(await journal.claimOverdue(10, 0)).toMatchObject([{ id: "over", text: "" }]);
  });

  it("releases what was reserved under several limits", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const store = newStore({ clock });
    const rules = { tokens: fixedWindow("100/d"), calls: fixedWindow("10/d") };
    const gateOf = (own: ManualClock) => {
      const limiter = rateLimiter(rules, { store, clock: own });
      const options = { rules: ["calls", { rule: "tokens", reserve: 60 }], proxies: 0, clock: own } as const;
      return { limiter, gate: new RateLimitMiddleware(limiter, options, testAdapter) };
    };
    passed(await gateOf(new ManualClock()).gate.admit({ peer: "1.2.3.4" }));
    const { limiter } = gateOf(clock);
    expect(await limiter.peek("tokens", "ip:1.2.3.4")).toMatchObject({ remaining: 40 });
    await clock.advance(61_000);
    while ((await store.journal.list(1)).length > 0) await clock.advance(3_000);
    expect(await limiter.peek("tokens", "ip:1.2.3.4")).toMatchObject({ remaining: 100 });
    expect(await limiter.peek("calls", "ip:1.2.3.4")).toMatchObject({ remaining: 9 });
  });
});

describe("the journal of reservations", () => {
  it("is kept under the store's prefix, and not for ever", async () => {
    const prefix = redis.newPrefix();
    const { journal } = redis.store({ prefix });
    await journal.add({ id: "a", text: "A" }, 60_000);
    const keys = (await redis.server.ask("KEYS", `${prefix}:*`)).split("\n").sort();
    expect(keys).toEqual([`${prefix}:{%journal10}:ends`, `${prefix}:{%journal10}:texts`]);
    for (const key of keys) expect(Number(await redis.server.ask("PTTL", key))).toBeGreaterThan(60_000);
  });

  it("costs a request that reserves no further call", async () => {
    const store = redis.store();
    await store.ready();
    const clock = new ManualClock();
    const limiter = rateLimiter({ api: fixedWindow("100/d") }, { store, clock });
    const gateOf = (reserve: object) => {
      return new RateLimitMiddleware(
        limiter,
        { rules: { rule: "api", ...reserve }, refundOn: "5xx", proxies: 0, clock },
        testAdapter,
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
    expect(await calls(reserving)).toBe(1);
  });

  describe("records a request in the same step", () => {
    const rule = { name: "tokens", limit: fixedWindow("100/d") };
    const take = (cost: number) => [{ rule, key: "k", cost }];
    const entry = (id: string) => ({ step: "add", id, text: `text of ${id}`, forMs: 60_000 }) as const;
    const settle = (cost: number) => [{ rule, key: "k", cost, reserved: { cost: 60, until: 2 ** 52 } }];
    const ended = { idempotencyKey: "a:end", entry: { step: "end", id: "a" } } as const;

    it("that is allowed, but none that is denied", async () => {
      const store = redis.store();
      await store.apply("take", take(60), { entry: entry("a") });
      expect(await store.journal.find("a")).toMatchObject({ text: "text of a", isEnded: false });
      const [denied] = await store.apply("take", take(60), { entry: entry("b") });
      expect(denied).toMatchObject({ allowed: false, remaining: 40 });
      expect((await store.journal.list(10)).map(({ id }) => id)).toEqual(["a"]);
    });

    it("once, and charges it once", async () => {
      const store = redis.store();
      const remaining = async (): Promise<number> => (await store.apply("peek", take(0)))[0].remaining;
      await store.apply("take", take(60), { entry: entry("a") });
      const again = store.apply("take", take(20), { entry: entry("a") });
      await expect(again).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
      expect(await remaining()).toBe(40);
      await store.apply("settle", settle(10), ended);
      expect([await remaining(), await store.journal.list(10)]).toEqual([90, []]);
      const late = store.apply("take", take(20), { entry: entry("a") });
      await expect(late).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
      await store.apply("settle", settle(10), ended);
      await expect(store.apply("settle", settle(20), ended)).rejects.toMatchObject({ code: "HG_IDEMPOTENCY_CONFLICT" });
      expect([await remaining(), await store.journal.list(10)]).toEqual([90, []]);
    });

    it("together with others, of the same and of other parts", async () => {
      const store = redis.store();
      const ids = Array.from({ length: 20 }, (_, i) => `${(i % 3).toString(16).padStart(2, "0")}${i}`);
      await Promise.all(ids.map((id) => store.apply("take", take(2), { entry: entry(id) })));
      expect((await store.journal.list(100)).map(({ id }) => id).sort()).toEqual([...ids].sort());
      await Promise.all(
        ids.map((id) => store.apply("settle", settle(60), { idempotencyKey: `${id}:end`, entry: { step: "end", id } })),
      );
      expect(await store.journal.list(100)).toEqual([]);
      const [{ remaining }] = await store.apply("peek", take(0));
      expect(remaining).toBe(60);
    });

    it.each(["zadd", "hset"])("and charges nothing if Redis refuses %s", async (command) => {
      const prefix = redis.newPrefix();
      await redis.server.ask("ACL", "SETUSER", `without-${command}`, "on", ">pw", "~*", "&*", "+@all", `-${command}`);
      const url = `redis://without-${command}:pw@127.0.0.1:${redis.server.port}`;
      const limited = new RedisStore(url, { prefix, timeoutMs: PATIENCE_MS });
      const refused = limited.apply("take", take(60), { entry: entry("a") });
      await expect(refused).rejects.toMatchObject({ code: "HG_STORE_REFUSED" });
      const store = redis.store({ prefix });
      const [{ remaining }] = await store.apply("peek", take(0));
      expect([remaining, await store.journal.list(10)]).toEqual([100, []]);
      await limited.close();
    });
  });

  it("leaves one key of a reservation that was settled, besides its counter", async () => {
    const prefix = redis.newPrefix();
    const store = redis.store({ prefix });
    const limiter = rateLimiter({ tokens: fixedWindow("100/d") }, { store });
    const checks = [{ rule: "tokens", key: "k", cost: 60 }] as const;
    await store.journal.list(1);
    expect(store.journal.isAtomic).toBe(true);
    await limiter.peek("tokens", "k");
    await (await limiter.reserve(checks)).settle({ tokens: 10 });
    const keys = await redis.client.keys(`${prefix}:*`);
    expect(keys.filter((key) => !key.includes(":tokens:"))).toEqual([expect.stringMatching(/:end:idempotency$/)]);
    // Other processes may ask what became of it.
    const known = await limiter.reserve(checks.map((check) => ({ ...check, cost: 5 })));
    const { id } = known;
    await known.settle({ tokens: 1 });
    const found = await rateLimiter({ tokens: fixedWindow("100/d") }, { store, clock: new ManualClock() }).reservation(
      id,
    );
    await expect(found.settle({ tokens: 2 })).rejects.toMatchObject({ code: "HG_RESERVATION_SETTLED" });
    await found.settle({ tokens: 1 });
    expect((await limiter.peek("tokens", "k")).remaining).toBe(89);
  });

  it("fails as a store does: when it is closed, and when Redis is gone or frozen", async () => {
    const store = new RedisStore(redis.server.url, { timeoutMs: 200 });
    await store.ready();
    const frozen = new RedisStore(redis.server.url, { timeoutMs: 200 });
    await frozen.ready();
    redis.server.pause();
    const late = frozen.journal.claimOverdue(1, 0);
    await expect(late).rejects.toBeInstanceOf(StoreError);
    await expect(late).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    redis.server.resume();
    expect(store.journal.isClosed).toBe(false);
    await Promise.all([store.close(), frozen.close()]);
    expect(store.journal.isClosed).toBe(true);
    await expect(store.journal.claimOverdue(1, 0)).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    const gone = new RedisStore("redis://127.0.0.1:1");
    await expect(gone.journal.extend([{ id: "a", forMs: 1 }])).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    await gone.close();
  });
});
