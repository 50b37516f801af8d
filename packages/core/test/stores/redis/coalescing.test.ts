import { beforeEach, describe, expect, it } from "vitest";
import { fixedWindow, gcra, type Rule, slidingWindowLog } from "../../../src/index.ts";
import { type RedisArgument, type RedisClient, RedisStore } from "../../../src/redis.ts";
import { ask, operation, rule } from "../conformance/context.ts";
import { longRate } from "../conformance/subjects.ts";
import { callsOf, PATIENCE_MS, useRedis } from "./redis.ts";

const redis = useRedis();
const hundred = rule("hundred", fixedWindow(longRate(100)));

beforeEach(async () => {
  // The script is there.
  await ask(redis.store(), "peek", hundred, "k");
  await redis.server.ask("CONFIG", "RESETSTAT");
});

function takes(store: RedisStore, count: number, under: Rule = hundred): Promise<boolean[]> {
  const keys = Array.from({ length: count }, (_, i) => `k${i}`);
  return Promise.all(keys.map(async (key) => (await ask(store, "take", under, key)).allowed));
}

/** Counts the commands that it was asked to send. */
class CountingClient implements RedisClient {
  sent = 0;

  send([name, ...args]: readonly RedisArgument[]): Promise<unknown> {
    this.sent += 1;
    return redis.client.callBuffer(String(name), ...args);
  }
}

function calls(): Promise<number> {
  return callsOf("evalsha", redis.server);
}

describe("requests of one tick", () => {
  it("travel in one call", async () => {
    expect(await takes(redis.store(), 31)).toEqual(new Array(31).fill(true));
    expect(await calls()).toBe(1);
  });

  it("travel in two calls if they would fill one, so that Redis decides the first while the others are made", async () => {
    const client = new CountingClient();
    const store = new RedisStore(client);
    await ask(store, "peek", hundred, "k");
    client.sent = 0;
    const asked = takes(store, 31);
    expect(client.sent).toBe(0);
    const others = takes(store, 33);
    // In this very tick, with the 32nd.
    expect(client.sent).toBe(1);
    await Promise.all([asked, others]);
    expect(client.sent).toBe(2);
  });

  it.each([
    { maxBatch: 1, count: 10, expected: 10 },
    { maxBatch: 2, count: 5, expected: 3 },
    { maxBatch: 64, count: 200, expected: 4 },
    { maxBatch: 1000, count: 1000, expected: 2 },
  ])("travel at most $maxBatch together: $count in $expected calls", async ({ maxBatch, count, expected }) => {
    expect(await takes(redis.store({ maxBatch }), count)).toEqual(new Array(count).fill(true));
    expect(await calls()).toBe(expected);
  });

  it("are those of one turn of the event loop, also if they come out of promises", async () => {
    const store = redis.store();
    const later = async (turns: number): Promise<boolean> => {
      for (let i = 0; i < turns; i += 1) await undefined;
      return (await ask(store, "take", hundred, `k${turns}`)).allowed;
    };
    await Promise.all([later(0), later(1), later(2), later(10)]);
    expect(await calls()).toBe(1);
  });

  it("do not wait for those of the next one", async () => {
    const store = redis.store();
    await takes(store, 3);
    await takes(store, 3);
    expect(await calls()).toBe(2);
  });

  it("of two stores on one client travel apart", async () => {
    await Promise.all([takes(redis.store(), 3), takes(redis.store(), 3)]);
    expect(await calls()).toBe(2);
  });

  it.each([1, 3, 64])("on one key are decided in the order asked (maxBatch %s)", async (maxBatch) => {
    const store = redis.store({ maxBatch });
    const answers = await Promise.all(Array.from({ length: 105 }, () => ask(store, "take", hundred, "k")));
    expect(answers.map(({ remaining }) => remaining)).toEqual(
      Array.from({ length: 105 }, (_, i) => Math.max(0, 99 - i)),
    );
    expect(answers.map(({ allowed }) => allowed)).toEqual(Array.from({ length: 105 }, (_, i) => i < 100));
  });

  it.each([1, 4, 64])("keep their order on each key whatever they ask for (maxBatch %s)", async (maxBatch) => {
    const store = redis.store({ maxBatch });
    const log = rule("log", slidingWindowLog(longRate(10)));
    const remaining = await Promise.all(
      [
        ask(store, "take", hundred, "a", 30),
        ask(store, "take", log, "a", 4),
        ask(store, "refund", hundred, "a", 10),
        ask(store, "take", hundred, "b", 5),
        ask(store, "take", hundred, "a", 90),
        ask(store, "penalize", log, "a", 3),
        ask(store, "peek", log, "a", 1),
        ask(store, "reset", hundred, "a"),
        ask(store, "take", hundred, "a", 90),
        ask(store, "take", log, "a", 3),
        ask(store, "peek", hundred, "b", 1),
      ].map(async (answer) => (await answer).remaining),
    );
    expect(remaining).toEqual([70, 6, 80, 95, 80, 3, 3, 100, 10, 0, 95]);
  });

  it("differ in nothing but what they do, and are not taken for each other", async () => {
    const store = redis.store();
    const remaining = await Promise.all(
      (["take", "take", "refund", "penalize", "penalize", "peek", "take", "reset", "take"] as const).map(
        async (action) => (await ask(store, action, hundred, "k", 5)).remaining,
      ),
    );
    expect(remaining).toEqual([95, 90, 95, 90, 85, 85, 80, 100, 95]);
    expect(await calls()).toBe(1);
  });

  it("differ in nothing but their limit, and each is judged by its own", async () => {
    const store = redis.store();
    const six = rule("six", fixedWindow(longRate(6)));
    const answers = await Promise.all([hundred, six, six, hundred].map((each) => ask(store, "take", each, "k", 5)));
    expect(answers.map(({ remaining }) => remaining)).toEqual([95, 1, 1, 90]);
  });

  it("with several limits each are charged one after the other, to all or to none", async () => {
    const store = redis.store();
    const two = rule("two", gcra(longRate(2)));
    const both = Array.from({ length: 3 }, () =>
      store.apply("take", [operation(hundred, "k", 10), operation(two, "k")]),
    );
    const answers = await Promise.all(both);
    expect(answers.map(([first]) => first.remaining)).toEqual([90, 80, 80]);
    expect(answers.map(([, second]) => second.allowed)).toEqual([true, true, false]);
    expect(await calls()).toBe(1);
  });
});

describe("a request that fails", () => {
  const strangers = [
    { what: "a list", put: ["RPUSH", "x"] },
    { what: "a string that is no row", put: ["SET", "x"] },
  ];

  it.each(strangers)(
    "for its key holds $what leaves the others of its call alone",
    async ({ put: [command, value] }) => {
      const prefix = redis.newPrefix();
      const store = redis.store({ prefix });
      const stranger = `${prefix}:{k3}:hundred:fixed_window`;
      await redis.server.ask(command, stranger, value);
      const before = await redis.client.dumpBuffer(stranger);
      // Of one shape, and of several.
      for (const cost of [() => 1, (i: number) => i + 1]) {
        await redis.server.ask("CONFIG", "RESETSTAT");
        const settled = await Promise.allSettled(
          Array.from({ length: 6 }, (_, i) => ask(store, "take", hundred, `k${i}`, cost(i))),
        );
        expect(settled.map((each) => (each.status === "fulfilled" ? "answered" : each.reason.code))).toEqual(
          Array.from({ length: 6 }, (_, i) => (i === 3 ? "HG_STORE_REFUSED" : "answered")),
        );
        expect(await calls()).toBe(1);
      }
      const left = await Promise.all(["k0", "k2", "k4", "k5"].map((key) => ask(store, "peek", hundred, key, 0)));
      expect(left.map(({ remaining }) => remaining)).toEqual([98, 96, 94, 93]);
      expect(await redis.client.dumpBuffer(stranger)).toEqual(before);
    },
  );

  it("gets its own reason, and charges none of its limits", async () => {
    const prefix = redis.newPrefix();
    const store = redis.store({ prefix });
    const other = rule("other", gcra(longRate(5)));
    await redis.server.ask("SET", `${prefix}:{a}:other:gcra`, "x");
    await redis.server.ask("RPUSH", `${prefix}:{b}:other:gcra`, "x");
    const settled = await Promise.allSettled([
      store.apply("take", [operation(hundred, "a"), operation(other, "a")]),
      store.apply("take", [operation(hundred, "b"), operation(other, "b")]),
      store.apply("take", [operation(hundred, "c"), operation(other, "c")]),
    ]);
    expect(settled.map((each) => (each.status === "rejected" ? each.reason.message : "answered"))).toEqual([
      expect.stringContaining("{a}:other:gcra"),
      expect.stringContaining("Operation against a key holding the wrong kind of value"),
      "answered",
    ]);
    const left = await Promise.all(["a", "b", "c"].map((key) => ask(store, "peek", hundred, key, 0)));
    expect(left.map(({ remaining }) => remaining)).toEqual([100, 100, 99]);
  });

  it("for its idempotency key was another's, or for it is void, leaves the others of its call alone", async () => {
    const store = redis.store();
    await store.ready();
    await redis.server.ask("CONFIG", "RESETSTAT");
    const take = (cost: number, options = {}) => store.apply("take", [operation(hundred, "k", cost)], options);
    const settled = await Promise.allSettled([
      take(1, { idempotencyKey: "once" }),
      take(2, { idempotencyKey: "once" }),
      take(1, { idempotencyKey: "once" }),
      take(4, { voidFrom: store.clock.now() - 1_000_000 }),
      take(8),
    ]);
    expect(settled.map((each) => (each.status === "fulfilled" ? each.value[0].remaining : each.reason.code))).toEqual([
      99,
      "HG_IDEMPOTENCY_CONFLICT",
      99,
      "HG_STORE_TIMEOUT",
      91,
    ]);
    expect(await calls()).toBe(1);
  });
});

describe("a store that is closed", () => {
  it("sends what waits, and leaves the client to its owner", async () => {
    const store = redis.store();
    const waiting = ask(store, "take", hundred, "k");
    await store.close();
    expect(await waiting).toMatchObject({ allowed: true, remaining: 99 });
    expect(await redis.client.ping()).toBe("PONG");
  });

  it("sends what waits before it closes a client of its own", async () => {
    const store = new RedisStore(redis.server.url, { prefix: redis.newPrefix(), timeoutMs: PATIENCE_MS });
    await ask(store, "take", hundred, "k");
    const waiting = ask(store, "take", hundred, "k");
    await store.close();
    expect(await waiting).toMatchObject({ allowed: true, remaining: 98 });
    await expect(ask(store, "take", hundred, "k")).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
  });
});
