import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { lua } from "../../../src/lua.generated.ts";

const KEY = "rl:{split:web}";
const LEASE = 1000;
const NOW = 1_700_000_000_000;

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

interface Beat {
  readonly id: string;
  readonly number: number;
  readonly held?: readonly [rank: number, of: number];
  readonly now?: number;
  readonly lease?: number;
}

function beat({ id, number, held = [0, 0], now = NOW, lease = LEASE }: Beat): Promise<unknown> {
  return redis.eval(lua["wrappers/split/beat.lua"], 1, KEY, id, number, lease, ...held, now);
}

/** What the server calls its own run. */
async function run(): Promise<string> {
  return /run_id:(\w+)/.exec(await redis.info("server"))?.[1] ?? "";
}

/** A record that has been whole for long, with these replicas: when heard of, the place held, the place granted. */
async function record(replicas: Readonly<Record<string, readonly number[]>>, ofRun = ""): Promise<void> {
  await redis.hset(KEY, "group", `${NOW - 100 * LEASE} ${NOW - 1} ${LEASE}${ofRun && ` ${ofRun}`}`);
  for (const [id, [at, ...places]] of Object.entries(replicas)) {
    await redis.hset(KEY, `replica:${id}`, [at, 7, ...places].join(" "));
  }
}

describe("a beat", () => {
  it.each([6, 7])("changes nothing when it was overtaken, or comes twice (%d after 7)", async (number) => {
    await record({ a: [NOW - 10, 0, 2, 0, 1], b: [NOW - 10, 1, 2, 1, 2] });
    const before = await redis.hgetall(KEY);
    expect(await beat({ id: "a", number, held: [1, 3] })).toEqual([0, 1, 2, LEASE]);
    expect(await redis.hgetall(KEY)).toEqual(before);
  });

  it("takes over the share of a replica that has left", async () => {
    await record({ a: [NOW - 10, 0, 2, 0, 2], b: [NOW - 1100, 1, 2, 1, 2] });
    expect(await beat({ id: "a", number: 8, held: [0, 2] })).toEqual([0, 2, 2, LEASE]);
    expect(await beat({ id: "a", number: 9, held: [0, 2], now: NOW + 1 })).toEqual([0, 1, 1, LEASE]);
    expect(await redis.hexists(KEY, "replica:b")).toBe(0);
  });

  it("takes the lowest rank that is free when its own is beyond the number of replicas", async () => {
    await record({ a: [NOW - 10, 1, 4, 1, 4], b: [NOW - 10, 3, 4, 3, 4] });
    expect(await beat({ id: "b", number: 8, held: [3, 4] })).toEqual([0, 2, 2, LEASE]);
  });

  it("gives a new replica nothing until all others have confirmed a number that includes it", async () => {
    await record({ a: [NOW - 10, 0, 1, 0, 1] });
    expect(await beat({ id: "b", number: 1 })).toEqual([0, 0, 2, LEASE]);
    expect(await beat({ id: "a", number: 8, held: [0, 1] })).toEqual([0, 2, 2, LEASE]);
    // It was answered, but has not confirmed the answer yet.
    expect(await beat({ id: "b", number: 2 })).toEqual([0, 0, 2, LEASE]);
    expect(await beat({ id: "a", number: 9, held: [0, 2] })).toEqual([0, 2, 2, LEASE]);
    expect(await beat({ id: "b", number: 3 })).toEqual([1, 2, 2, LEASE]);
  });

  it("separates two replicas with the same rank, as after a failover that lost a beat", async () => {
    await record({ a: [NOW - 10, 0, 2, 0, 2], b: [NOW - 10, 0, 2, 0, 2] });
    expect(await beat({ id: "a", number: 8, held: [0, 2] })).toEqual([1, 2, 2, LEASE]);
    expect(await beat({ id: "a", number: 9, held: [1, 2] })).toEqual([1, 2, 2, LEASE]);
    expect(await beat({ id: "b", number: 8, held: [0, 2] })).toEqual([0, 2, 2, LEASE]);
  });

  it("lets no replica grow or move for a lease when the record was silent for half of one", async () => {
    await record({ a: [NOW - 10, 1, 3, 1, 3] });
    const silent = NOW + LEASE / 2;
    expect(await beat({ id: "a", number: 8, held: [1, 3], now: silent })).toEqual([1, 3, 1, LEASE]);
    for (let ms = 400, number = 9; ms <= 1.1 * LEASE; ms += 100, number += 1) {
      expect(await beat({ id: "a", number, held: [1, 3], now: silent + ms })).toEqual([1, 3, 1, LEASE]);
    }
    expect(await beat({ id: "a", number: 99, held: [1, 3], now: silent + 1.1 * LEASE + 1 })).toEqual([0, 1, 1, LEASE]);
  });

  it("gives each replica its place back after the server stood still, however long", async () => {
    await record({ a: [NOW - 10, 0, 2, 0, 2], b: [NOW - 20, 1, 2, 1, 2] }, await run());
    const later = NOW + 100 * LEASE;
    expect(await beat({ id: "b", number: 8, now: later })).toEqual([1, 2, 2, LEASE]);
    expect(await beat({ id: "a", number: 8, now: later + 1 })).toEqual([0, 2, 2, LEASE]);
  });

  it("drops a replica that does not come back after that, as any other", async () => {
    await record({ a: [NOW - 10, 0, 2, 0, 2], b: [NOW - 20, 1, 2, 1, 2] }, await run());
    const later = NOW + 100 * LEASE;
    for (let ms = 0, number = 8; ms <= LEASE; ms += 100, number += 1) {
      expect(await beat({ id: "b", number, held: [1, 2], now: later + ms })).toEqual([1, 2, 2, LEASE]);
    }
    expect(await beat({ id: "b", number: 99, held: [1, 2], now: later + 1.1 * LEASE + 1 })).toEqual([0, 1, 1, LEASE]);
  });

  it("gives no place back by a record of another run: it may be an old copy", async () => {
    await record({ a: [NOW - 10, 0, 2, 0, 2], b: [NOW - 20, 1, 2, 1, 2] }, "0123456789abcdef");
    expect(await beat({ id: "b", number: 8, now: NOW + 100 * LEASE })).toEqual([0, 0, 1, LEASE]);
  });

  it("that was late on its way does not bring back a place that was given away", async () => {
    await record({ a: [NOW - 10, 0, 1, 0, 1] }, await run());
    expect(await beat({ id: "b", number: 8, held: [1, 2] })).toEqual([0, 0, 2, LEASE]);
    expect(await beat({ id: "b", number: 9 })).toEqual([0, 0, 2, LEASE]);
  });

  it("gives replicas with a time in the future a lease from now", async () => {
    await record({ a: [NOW + 3_600_000, 1, 2, 1, 2] });
    await beat({ id: "b", number: 1, held: [0, 2] });
    expect(await redis.hget(KEY, "replica:a")).toBe(`${NOW} 7 1 2 1 2`);
  });

  it("with another lease is refused while others are there, and then begins a record of its own", async () => {
    await record({ a: [NOW - 500, 0, 1, 0, 1] });
    const before = await redis.hgetall(KEY);
    expect(await beat({ id: "b", number: 1, lease: 3000 })).toEqual([0, 0, 1, LEASE]);
    expect(await beat({ id: "c", number: 1, lease: 100 })).toEqual([0, 0, 1, LEASE]);
    expect(await redis.hgetall(KEY)).toEqual(before);
    const now = NOW + LEASE;
    expect(await beat({ id: "b", number: 2, lease: 3000, now })).toEqual([0, 0, 1, 3000]);
    expect(await redis.hget(KEY, "group")).toBe(`${now} ${now} 3000 ${await run()}`);
  });

  it("goes by the server's own time", async () => {
    await redis.eval(lua["wrappers/split/beat.lua"], 1, KEY, "a", 1, LEASE, 0, 0);
    const [seconds, microseconds] = (await redis.time()).map(Number);
    const [since] = (await redis.hget(KEY, "group"))?.split(" ").map(Number) ?? [];
    const age = seconds * 1000 + microseconds / 1000 - since;
    expect(age).toBeGreaterThanOrEqual(0);
    expect(age).toBeLessThan(10_000);
  });
});
