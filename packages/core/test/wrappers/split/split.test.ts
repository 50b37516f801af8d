import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { fixedWindow, gcra, leakyBucket } from "../../../src/algorithms/registry.ts";
import { StoreError } from "../../../src/errors.ts";
import type { Limit } from "../../../src/limits/limit.ts";
import { rateLimiter } from "../../../src/rate-limiter.ts";
import { resilient } from "../../../src/wrappers/resilient/resilient.ts";
import type { Split } from "../../../src/wrappers/split/split.ts";
import { BEAT, enforced, type Fault, LEASE, sums, World } from "./world.ts";

const ten = fixedWindow("10/h");
const rules = { api: ten };

let server: RedisServer;
let redis: Redis;
let world: World;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
beforeEach(async () => {
  await redis.flushall();
  world = new World(redis, "web");
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** So many replicas that have their shares. */
async function replicas<Count extends 1 | 2 | 3>(count: Count): Promise<World["replicas"]> {
  for (let i = 0; i < count; i += 1) await world.join();
  await world.pass(2 * LEASE);
  return [...world.replicas];
}

function peek(store: Split, cost = 1, limit: Limit = ten): unknown {
  return store.apply("peek", [{ rule: { name: "api", limit }, key: "k", cost }])[0];
}

function failure(call: () => unknown): StoreError {
  try {
    call();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error("did not fail");
}

describe("a replica with a share", () => {
  it("answers at once, from its lease", async () => {
    const [{ store }] = await replicas(2);
    expect(peek(store)).toEqual({
      time: store.clock.now(),
      allowed: true,
      remaining: 5,
      retryAfter: 0,
      resetAfter: 0,
      source: "lease",
      degraded: false,
    });
  });

  it("admits its share and no more", async () => {
    const [first, second] = await replicas(2);
    const limiter = rateLimiter(rules, { store: first.store, clock: first.clock });
    const decisions = await limiter.checkMany("api", Array(8).fill("k"));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([...Array(5).fill(true), ...Array(3).fill(false)]);
    expect(decisions[7]).toMatchObject({ limit: 10, remaining: 0, source: "lease", degraded: false });
    expect(decisions[7].retryAfterMs).toBeGreaterThan(LEASE);
    expect(enforced(second, [ten])).toEqual([5]);
  });

  it("has what it used used when its share changes", async () => {
    const [first, second] = await replicas(2);
    const limiter = rateLimiter(rules, { store: first.store, clock: first.clock });
    await limiter.check("api", "k", { cost: 3 });
    await world.join();
    await world.pass(3 * BEAT);
    expect(first.store.stats.shares).toEqual({ api: { limit: 4, burst: 4 } });
    expect((await limiter.peek("api", "k")).remaining).toBe(1);
    await world.leave(second);
    await world.pass(2 * BEAT);
    expect((await limiter.peek("api", "k")).remaining).toBe(2);
  });

  it("enforces its share of a changed limit from the next request on", async () => {
    const [first] = await replicas(2);
    const limiter = rateLimiter(rules, { store: first.store, clock: first.clock });
    await limiter.check("api", "k", { cost: 3 });
    limiter.setLimit("api", fixedWindow("20/h"));
    expect((await limiter.peek("api", "k")).remaining).toBe(7);
    limiter.setLimit("api", fixedWindow("7/h"));
    expect((await limiter.peek("api", "k")).remaining).toBe(1);
  });

  it("charges all of a request or nothing, where one of its shares is empty", async () => {
    const all = await replicas(3);
    const { store, clock } = all[2];
    const limiter = rateLimiter({ api: ten, scarce: fixedWindow("2/h") }, { store, clock });
    const verdict = await limiter.checkAll([
      { rule: "api", key: "k" },
      { rule: "scarce", key: "k" },
    ]);
    expect(verdict.deniedBy).toEqual(["scarce"]);
    expect((await limiter.peek("api", "k")).remaining).toBe(3);
  });

  it("lets a queue leave at its share of the rate", async () => {
    const [{ store, clock }] = await replicas(2);
    const limiter = rateLimiter({ mail: leakyBucket("10/s") }, { store, clock });
    const decisions = await limiter.checkMany("mail", Array(6).fill("k"));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([...Array(5).fill(true), false]);
    // A turn of the other replica precedes each of its own.
    expect(decisions.slice(0, 5).map(({ delayMs }) => delayMs)).toEqual([100, 300, 500, 700, 900]);
    expect(decisions[5]).toMatchObject({ remaining: 0, retryAfterMs: 200 });
    const stop = new AbortController();
    await limiter.reset("mail", "k");
    const waiting = limiter.wait("mail", "k", { signal: stop.signal });
    await clock.advance(50);
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    // No task was behind it: its place is free again.
    expect((await limiter.peek("mail", "k")).remaining).toBe(10);
  });

  it("reports its stats", async () => {
    const [first, second] = await replicas(2);
    peek(first.store, 1, gcra("9/m", { burst: 5 }));
    const { lastBeatMs = 0, ...stats } = first.store.stats;
    expect(stats).toEqual({ replicas: 2, rank: 0, shares: { api: { limit: 5, burst: 3 } }, lapses: 0 });
    expect(first.ms - lastBeatMs).toBeLessThan(BEAT);
    expect(second.store.stats).toMatchObject({ rank: 1, shares: {} });
  });
});

describe("a share of nothing", () => {
  it("denies everything, to be tried again after a lease, when the replicas may be fewer", async () => {
    const { store } = (await replicas(3))[2];
    for (const limit of [fixedWindow("2/h"), gcra("2/h"), leakyBucket("100/h", { burst: 2 })]) {
      expect(peek(store, 1, limit)).toMatchObject({ allowed: false, remaining: 0, retryAfter: LEASE * 1000 });
      expect(peek(store, 0, limit)).toMatchObject({ allowed: true, remaining: 0, retryAfter: 0 });
    }
  });

  it("remembers a penalty until it is more", async () => {
    const all = await replicas(3);
    const { store, clock } = all[2];
    const limiter = rateLimiter({ api: fixedWindow("2/h") }, { store, clock });
    // Answered as a peek of cost 1 is.
    expect((await limiter.penalize("api", "k", { cost: 3 })).retryAfterMs).toBe(LEASE);
    await world.leave(all[0]);
    await world.pass(2 * BEAT);
    expect(await limiter.check("api", "other")).toMatchObject({ allowed: true });
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: false });
  });
});

describe("a cost beyond the share", () => {
  it("may pass later if the limit holds it, and never if not", async () => {
    const [{ store }] = await replicas(2);
    expect(peek(store, 6)).toMatchObject({ allowed: false, retryAfter: LEASE * 1000 });
    expect(peek(store, 10)).toMatchObject({ allowed: false, retryAfter: LEASE * 1000 });
    expect(peek(store, 11)).toMatchObject({ allowed: false, retryAfter: Number.POSITIVE_INFINITY });
  });
});

describe("a replica without a share", () => {
  it("fails until it is ready, which takes the first of a group a lease, and later ones some beats", async () => {
    const first = await world.join();
    const whenReady = readiness(first.store);
    await world.pass(LEASE);
    expect(whenReady.is).toBe(false);
    const error = failure(() => peek(first.store));
    expect(error).toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    expect(error.message).toMatch(/no share yet: wait for ready\(\)/);
    await world.pass(0.1 * LEASE + BEAT);
    expect(whenReady.is).toBe(true);
    expect(enforced(first, [ten])).toEqual([10]);

    const second = await world.join();
    expect(enforced(second, [ten])).toEqual([0]);
    await world.pass(3 * BEAT);
    expect(enforced(second, [ten])).toEqual([5]);
    await second.store.ready();
  });

  it("fails when the lease is over, counted from when the last beat was sent, with the reason", async () => {
    const [first] = await replicas(1);
    first.link.faults.push("reply held", "request lost", "request lost", "request lost", "request lost");
    // The answer takes half a beat, which does not extend the lease.
    while (first.link.held.length === 0) await world.pass(BEAT / 4);
    const held = first.ms;
    await world.pass(BEAT / 2);
    await world.release(first);
    const sent = first.store.stats.lastBeatMs ?? 0;
    expect(sent).toBeLessThanOrEqual(held);
    expect(sent).toBeGreaterThan(held - BEAT / 4);
    await world.pass(sent + LEASE - first.ms - 1);
    expect(enforced(first, [ten])).toEqual([10]);
    await world.pass(1);
    const error = failure(() => peek(first.store));
    expect(error).toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    expect(error.message).toMatch(/share has lapsed/);
    expect(error.cause).toMatchObject({ message: expect.stringMatching(/Connection is closed/) });
    expect(first.store.stats).toMatchObject({ rank: undefined, lapses: 1 });
    expect(first.store.stats.shares).toEqual({ "rule 0": { limit: 0, burst: 0 } });
    // The server has kept the record, and the place in it.
    await world.pass(BEAT);
    expect(enforced(first, [ten])).toEqual([10]);
    expect(first.store.stats.lapses).toBe(1);
  });

  it("has its share back with the first beat that a server answers which has kept the record", async () => {
    const all = await replicas(3);
    for (const { link } of all) link.faults.push(...Array<Fault>(1_000).fill("request lost"));
    await world.pass(10 * LEASE);
    expect(sums(all, [ten])).toEqual([0]);
    for (const { link } of all) link.faults.length = 0;
    await world.pass(LEASE / 12 + BEAT / 4);
    expect(sums(all, [ten])).toEqual([10]);
  });

  it("has its share back soon after 1.1 leases if the server lost all data", async () => {
    const all = await replicas(3);
    for (const { link } of all) link.faults.push(...Array<Fault>(1_000).fill("request lost"));
    await world.pass(2 * LEASE);
    await redis.flushall();
    for (const { link } of all) link.faults.length = 0;
    await world.pass(1.1 * LEASE);
    expect(sums(all, [ten])).toEqual([0]);
    await world.pass(LEASE / 4);
    expect(sums(all, [ten])).toEqual([10]);
  });

  it("fails after it stood still for longer than its lease, before any beat", async () => {
    const [first] = await replicas(2);
    first.paused = true;
    await world.pass(LEASE + BEAT);
    expect(failure(() => peek(first.store)).message).toMatch(/share has lapsed/);
  });

  it("works inside resilient, with the fallback of the rule", async () => {
    const [first] = await replicas(1);
    const limiter = rateLimiter(rules, { store: resilient(first.store, { onError: "deny", clock: first.clock }) });
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: true, source: "lease" });
    first.paused = true;
    await world.pass(LEASE + BEAT);
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: false, source: "fallback", degraded: true });
  });

  it("ignores the answer to a beat that it has given up", async () => {
    const [first] = await replicas(1);
    await world.join();
    await world.pass(4 * BEAT);
    first.link.faults.push("reply held");
    await world.pass(2.2 * LEASE + 4 * BEAT);
    expect(enforced(first, [ten])).toEqual([5]);
    const { lastBeatMs } = first.store.stats;
    await world.release(first);
    expect(enforced(first, [ten])).toEqual([5]);
    expect(first.store.stats).toMatchObject({ lastBeatMs, lapses: 1 });
  });

  it("ignores the answer to a beat that it has given up, even if it never had a share", async () => {
    const first = await world.join();
    const { lastBeatMs = 0 } = first.store.stats;
    first.link.faults.push("reply held", "reply held");
    await world.pass(LEASE + 2 * BEAT);
    expect(first.link.held).toHaveLength(2);
    await world.release(first);
    expect(first.store.stats.lastBeatMs).toBe(lastBeatMs);
    await world.release(first);
    expect(first.store.stats.lastBeatMs).toBeGreaterThan(lastBeatMs);
  });

  it("ignores an answer for a place that expired on the way", async () => {
    const slow = await world.join();
    await world.pass(BEAT);
    const other = await world.join();
    await world.pass(2 * LEASE);
    slow.link.faults.push("request held");
    while (slow.link.held.length === 0) await world.pass(BEAT / 4);
    await world.pass(3.75 * BEAT);
    // The server missed it, gave its share away, and only then reads that it is held.
    expect(enforced(other, [ten])).toEqual([10]);
    await world.release(slow);
    expect(enforced(slow, [ten])).toEqual([0]);
  });

  it("has the server's own words as the cause", async () => {
    await redis.set("rl:{split:web}", "something else");
    const { store } = await world.join();
    const { cause } = failure(() => peek(store));
    expect(cause).toMatchObject({ code: "HG_STORE_REFUSED", message: expect.stringMatching(/WRONGTYPE/) });
    await redis.del("rl:{split:web}");
    await world.pass(BEAT);
    expect(failure(() => peek(store)).cause).toBe(undefined);
  });

  it("rejects an answer that is not from the script", async () => {
    for (const reply of [null, "OK", [0, 1, 1], [0, 1, 1, "soon"], [0, 0.5, 1, LEASE]]) {
      const { store, link, clock } = await world.join();
      link.send = async () => reply;
      await clock.advance(BEAT);
      expect(failure(() => peek(store)).cause).toMatchObject({ code: "HG_STORE_REFUSED" });
      await store.close();
    }
  });
});

describe("a replica with another lease than its group", () => {
  it("gets an error, and does not take part until the others are gone", async () => {
    const [first] = await replicas(1);
    const other = await world.join(1, { leaseMs: 2 * LEASE });
    const mistake = {
      code: "HG_BAD_OPTION",
      field: "leaseMs",
      message: expect.stringMatching(/which uses 400, got 800/),
    };
    const waiting = expect(other.store.ready()).rejects.toMatchObject(mistake);
    await world.pass(BEAT);
    await waiting;
    expect(() => peek(other.store)).toThrow(expect.objectContaining(mistake));
    expect(() => peek(other.store)).not.toThrow(StoreError);
    expect(first.store.stats.replicas).toBe(1);
    await world.leave(first);
    await world.pass(3 * LEASE);
    expect(enforced(other, [ten])).toEqual([10]);
  });
});

describe("close", () => {
  it("gives the share back at once: the others have it with their next beat", async () => {
    const [first, second] = await replicas(2);
    await first.store.close();
    await world.pass(BEAT);
    expect(enforced(second, [ten])).toEqual([10]);
    expect(await redis.hlen("rl:{split:web}")).toBe(2);
    expect(failure(() => peek(first.store)).message).toMatch(/returned by close/);
    await expect(first.store.ready()).rejects.toBeInstanceOf(StoreError);
    await first.store.close();
  });

  it("ends the waiting for a share", async () => {
    const { store } = await world.join();
    const waiting = expect(store.ready()).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    await store.close();
    await waiting;
  });

  it("stops the beats, and ignores answers that arrive after it", async () => {
    const [first] = await replicas(1);
    first.link.faults.push("reply held");
    await world.pass(BEAT);
    await first.store.close();
    await world.release(first);
    expect(failure(() => peek(first.store)).message).toMatch(/returned by close/);
    await world.pass(4 * BEAT);
    expect(await redis.hlen("rl:{split:web}")).toBe(1);
  });

  it("ignores a first share that arrives after it", async () => {
    const { store, link, clock } = await world.join();
    const answers: ((reply: unknown) => void)[] = [];
    link.send = ([name]) => (name === "EVAL" ? new Promise((resolve) => answers.push(resolve)) : Promise.resolve(1));
    await clock.advance(BEAT);
    await store.close();
    answers[0]([0, 1, 1, LEASE]);
    await clock.advance(0);
    expect(failure(() => peek(store)).message).toMatch(/returned by close/);
  });

  it("waits no longer than a lease for a server that does not answer", async () => {
    const [first] = await replicas(1);
    first.link.faults.push("request held");
    let closed = false;
    void first.store.close().then(() => {
      closed = true;
    });
    await world.pass(LEASE - 1);
    expect(closed).toBe(false);
    await world.pass(2);
    expect(closed).toBe(true);
  });

  it("does not fail when the server refuses: the lease ends by itself", async () => {
    const [first] = await replicas(1);
    first.link.faults.push("request lost");
    await first.store.close();
  });
});

describe("the record in Redis", () => {
  it("is one key, under the hash tag of the group, that expires when all are gone", async () => {
    const odd = new World(redis, "a}b:{c");
    const { store } = await odd.join();
    expect(await redis.keys("*")).toEqual(["rl:{split:a%7Db:%7Bc}"]);
    const ttl = await redis.pttl("rl:{split:a%7Db:%7Bc}");
    expect(ttl).toBeGreaterThan(LEASE);
    expect(ttl).toBeLessThanOrEqual(600_000);
    await store.close();
  });

  it("names each replica, and treats one that restarts under an old id as another", async () => {
    await world.join(1, { id: "web-0" });
    await world.join(1, { id: "web-0" });
    await world.pass(2 * LEASE);
    const names = (await redis.hkeys("rl:{split:web}")).filter((name) => name.startsWith("replica:web-0/"));
    expect(new Set(names).size).toBe(2);
    expect(world.replicas.map((replica) => enforced(replica, [ten])[0])).toEqual([5, 5]);
  });

  it("keeps groups apart", async () => {
    const [first] = await replicas(1);
    const other = await world.join(1, { group: "jobs" });
    await world.pass(2 * LEASE);
    expect([enforced(first, [ten]), enforced(other, [ten])]).toEqual([[10], [10]]);
  });
});

function readiness(store: Split): { is: boolean } {
  const whenReady = { is: false };
  void store.ready().then(() => {
    whenReady.is = true;
  });
  return whenReady;
}
