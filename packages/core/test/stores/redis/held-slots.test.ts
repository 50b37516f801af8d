import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { startRedis } from "headgate-testkit/redis-server";
import { describe, expect, it } from "vitest";
import { type Action, type Answer, concurrency, gcra, type Operation, type Rule } from "../../../src/index.ts";
import { RedisStore } from "../../../src/redis.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { operation, rule } from "../conformance/context.ts";
import { longRate } from "../conformance/subjects.ts";
import { callsOf, PATIENCE_MS, useRedis } from "./redis.ts";

const redis = useRedis();

const SECOND = 1_000_000;
const tasks: Rule = rule("tasks", concurrency(3));

function slots(key: string, id: string, forUs = 60 * SECOND, cost = 1): Operation {
  return { rule: tasks, key, cost, slot: { id, forUs } };
}

async function act(store: RedisStore, action: Action, asked: Operation): Promise<Answer> {
  const [answer] = await store.apply(action, [asked]);
  return answer;
}

describe("the row of slots", () => {
  it("is kept until the last lease or tombstone has ended, and never for good", async () => {
    const prefix = redis.newPrefix();
    const store = redis.store({ prefix });
    // From the time of the decision on, so that it does not matter how long the test takes to ask.
    let decidedAt = (await act(store, "take", slots("k", "a", 100 * SECOND))).time;
    const keptSeconds = async (): Promise<number> => {
      const until = await redis.client.pexpiretime(`${prefix}:{k}:tasks:concurrency`);
      return Math.round((until * 1000 - decidedAt) / SECOND);
    };
    expect(await keptSeconds()).toBe(101);
    await act(store, "take", slots("k", "b", 10 * SECOND, 2));
    expect(await keptSeconds()).toBe(101);
    decidedAt = (await act(store, "extend", slots("k", "b", 1_000 * SECOND, 2))).time;
    expect(await keptSeconds()).toBe(1_001);
    await act(store, "release", slots("k", "b", 10 * SECOND, 2));
    decidedAt = (await act(store, "release", slots("k", "a", 10_000 * SECOND))).time;
    expect(await keptSeconds()).toBe(10_001);
    await store.apply("reset", [operation(tasks, "k")]);
    expect(await redis.client.keys(`${prefix}:*`)).toEqual([]);
  });

  it("is gone when all leases have ended", async () => {
    const prefix = redis.newPrefix();
    const store = redis.store({ prefix });
    await act(store, "take", slots("k", "a", 1_000));
    await act(store, "release", slots("l", "a", 1_000));
    expect(await redis.client.keys(`${prefix}:*`)).toHaveLength(2);
    await eventually("they are dropped", async () => (await redis.client.keys(`${prefix}:*`)).length === 0);
  });

  it("does not grow with reservations that have released their slots long ago", async () => {
    const prefix = redis.newPrefix();
    const clock = new ManualClock(1_700_000_000_000);
    const store = redis.store({ prefix, clock });
    for (let i = 0; i < 500; i += 1) {
      await act(store, "take", slots("k", `r${i}`, SECOND, 1 + (i % 3)));
      await act(store, "release", slots("k", `r${i}`, SECOND, 1 + (i % 3)));
      await clock.advance(100);
    }
    expect(await redis.client.zcard(`${prefix}:{k}:tasks:concurrency`)).toBeLessThan(15);
  });
});

describe("extending", () => {
  it("a thousand slots of as many keys takes one call", async () => {
    const store = redis.store();
    const held = Array.from({ length: 1_000 }, (_, i) => slots(`key ${i}`, `r${i}`));
    await Promise.all(held.map((each) => act(store, "take", each)));
    await redis.server.ask("CONFIG", "RESETSTAT");
    const answers = await store.apply("extend", held);
    expect(answers.filter(({ allowed, inUse }) => allowed && inUse === 1)).toHaveLength(1_000);
    expect(await callsOf("evalsha", redis.server)).toBe(1);
  });
});

describe("a write that Redis refuses in the middle of a request for slots", () => {
  const units = rule("units", gcra(longRate(10)));

  /** A store whose user is not permitted to use a command, on the same keys. */
  async function without(command: string, prefix: string): Promise<RedisStore> {
    await redis.server.ask("ACL", "SETUSER", `no-${command}`, "on", ">pw", "~*", "&*", "+@all", `-${command}`);
    const url = `redis://no-${command}:pw@127.0.0.1:${redis.server.port}`;
    return new RedisStore(url, { prefix, timeoutMs: PATIENCE_MS, clock: new ManualClock(1_700_000_000_000) });
  }

  it.each([
    ["psetex", "take", [slots("k", "new", SECOND, 2), operation(units, "k", 3)], undefined],
    ["pexpire", "take", [slots("k", "new", SECOND, 2)], undefined],
    ["pexpire", "take", [slots("unused", "new")], undefined],
    ["psetex", "take", [slots("k", "new", SECOND)], "once"],
    ["psetex", "take", [slots("unused", "new", SECOND, 3)], "once"],
    ["psetex", "release", [slots("k", "held", SECOND, 2)], "once"],
    ["psetex", "release", [slots("k", "none")], "once"],
    ["psetex", "reset", [slots("k", "held", SECOND, 2)], "once"],
    ["del", "reset", [slots("k", "held", SECOND, 2), operation(units, "k", 3)], undefined],
    ["zadd", "take", [slots("k", "new")], undefined],
    ["zadd", "extend", [slots("k", "held", 100 * SECOND, 2)], undefined],
  ] as const)("%s of a %s: nothing has changed", async (command, action, operations, idempotencyKey) => {
    const prefix = redis.newPrefix();
    const clock = new ManualClock(1_700_000_000_000);
    const store = redis.store({ prefix, clock });
    const weighted = { rule: rule("tasks", concurrency(10)), key: "k" };
    await act(store, "take", { ...slots("k", "held", 10 * SECOND, 2), ...weighted });
    await act(store, "take", { ...slots("k", "other", 20 * SECOND), ...weighted });
    await act(store, "release", { ...slots("k", "released"), ...weighted });
    await store.apply("take", [operation(units, "k", 2)]);
    const rows = async (): Promise<unknown> =>
      Promise.all([
        redis.client.zrangebyscore(`${prefix}:{k}:tasks:concurrency`, "-inf", "+inf", "WITHSCORES"),
        redis.client.exists(`${prefix}:{unused}:tasks:concurrency`),
        store.apply("peek", [operation(units, "k", 0)]),
      ]);
    const before = await rows();
    const limited = await without(command, prefix);
    const loose = operations.map((each) => (each.rule === tasks ? { ...each, rule: weighted.rule } : each));
    const refused = limited.apply(action, loose, idempotencyKey === undefined ? undefined : { idempotencyKey });
    await expect(refused).rejects.toMatchObject({ code: "HG_STORE_REFUSED" });
    expect(await rows()).toEqual(before);
    await limited.close();
  });

  it("of a key that other software uses is refused, and leaves it alone", async () => {
    const prefix = redis.newPrefix();
    const store = redis.store({ prefix });
    await redis.client.set(`${prefix}:{k}:tasks:concurrency`, "mine");
    for (const action of ["take", "extend", "release", "peek", "reset"] as const) {
      await expect(store.apply(action, [slots("k", "a")])).rejects.toMatchObject({ code: "HG_STORE_REFUSED" });
    }
    expect(await redis.client.get(`${prefix}:{k}:tasks:concurrency`)).toBe("mine");
  });
});

it("slots of a process that is gone are free when their lease has ended by the clock of Redis", async () => {
  const store = redis.store();
  const first = await act(store, "take", slots("k", "gone", 300_000, 3));
  let next = await act(store, "take", slots("k", "next"));
  expect(next).toMatchObject({ allowed: false, inUse: 3 });
  await eventually("a slot is free", async () => {
    next = await act(store, "take", slots("k", "next"));
    return next.allowed;
  });
  expect(next.time).toBeGreaterThanOrEqual(first.time + 300_000);
  // The process was only frozen: now it learns that its slots are lost.
  expect(await act(store, "extend", slots("k", "gone", 300_000, 3))).toMatchObject({ allowed: false, inUse: 1 });
});

describe("slots in a Redis that fails", () => {
  it("are restored by extending them after it was killed and has lost them", async () => {
    const server = await startRedis();
    const store = new RedisStore(server.url, { timeoutMs: PATIENCE_MS });
    for (const id of ["a", "b"]) await act(store, "take", slots("k", id));
    await server.kill();
    await server.restart();
    let extended: readonly Answer[] = [];
    await eventually("it answers", async () => {
      extended = await store.apply("extend", [slots("k", "a"), slots("k", "b")]);
      return true;
    });
    expect(extended.map(({ allowed, inUse }) => [allowed, inUse])).toEqual([
      [true, 1],
      [true, 2],
    ]);
    expect(await act(store, "take", slots("k", "c"))).toMatchObject({ allowed: true, inUse: 3 });
    expect(await act(store, "take", slots("k", "d"))).toMatchObject({ allowed: false, inUse: 3 });
    await store.close();
    await server.stop();
  });

  it("are not taken by a call that timed out while it was frozen", async () => {
    const server = await startRedis();
    const store = new RedisStore(server.url, { timeoutMs: 300 });
    await eventually("it answers", async () =>
      act(store, "take", slots("k", "a")).then(
        () => true,
        () => false,
      ),
    );
    server.pause();
    const late = await Promise.allSettled(["b", "c", "d"].map(async (id) => act(store, "take", slots("k", id))));
    expect(late.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    await delay(100);
    server.resume();
    const reader = new RedisStore(server.url, { timeoutMs: PATIENCE_MS });
    expect(await act(reader, "peek", operation(tasks, "k"))).toMatchObject({ inUse: 1 });
    await Promise.all([store.close(), reader.close()]);
    await server.stop();
  });

  it("are never held by more tasks than the limit says, however many compete for them", async () => {
    const prefix = redis.newPrefix();
    const clients = await Promise.all([redis.connect(), redis.connect(), redis.connect()]);
    const stores = clients.map((client) => redis.store({ prefix }, client));
    let running = 0;
    let most = 0;
    let done = 0;
    const worker = async (store: RedisStore, name: string): Promise<void> => {
      for (let i = 0; i < 40; i += 1) {
        const mine = slots("k", `${name} ${i}`);
        if (!(await act(store, "take", mine)).allowed) continue;
        running += 1;
        most = Math.max(most, running);
        await delay(Math.random() * 3);
        running -= 1;
        done += 1;
        await act(store, "release", mine);
      }
    };
    await Promise.all(stores.flatMap((store, i) => ["x", "y", "z"].map((name) => worker(store, `${name}${i}`))));
    expect(most).toBe(3);
    expect(done).toBeGreaterThan(10);
    expect(await act(stores[0], "peek", operation(tasks, "k"))).toMatchObject({ inUse: 0 });
  });
});
