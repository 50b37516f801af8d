import { eventually } from "headgate-testkit/eventually";
import { ForkedProcess } from "headgate-testkit/forked-process";
import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { limitFromSpec, rateLimiter } from "../../src/index.ts";
import { RedisStore } from "../../src/redis.ts";
import { PATIENCE_MS, useRedis } from "../stores/redis/redis.ts";

/** Longer than a slow machine lets a process wait for its turn. */
const FOR_MS = 2_500;
/** They flow back by themselves in a day only. */
const specs = {
  tokens: { algorithm: "fixed_window", limit: 1_000, window: 86_400, anchor: "request" },
  calls: { algorithm: "sliding_window_log", limit: 100, window: 86_400 },
  slots: { algorithm: "concurrency", limit: 10 },
};
const rules = {
  tokens: limitFromSpec(specs.tokens),
  calls: limitFromSpec(specs.calls),
  slots: limitFromSpec(specs.slots),
};

const children: ForkedProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill();
});

/** A process that dies at a step; 0 for one that waits for messages. */
function start(
  url: string,
  prefix: string,
  key: string,
  step: number,
  when = "before",
  mode = "atomic",
): ForkedProcess {
  const args = [url, prefix, JSON.stringify(specs), key, String(step), when, String(FOR_MS), mode];
  const child = new ForkedProcess(new URL("reserver.mjs", import.meta.url), args);
  children.push(child);
  return child;
}

/** This process, which lives and cleans up. */
function survivor(store: RedisStore) {
  const limiter = rateLimiter(rules, { store });
  limiter.reservation("none").catch(() => {});
  const used = async (key: string): Promise<[number, number]> => {
    const [tokens, calls] = await Promise.all([limiter.peek("tokens", key), limiter.peek("calls", key)]);
    return [1_000 - tokens.remaining, 100 - calls.remaining];
  };
  const open = async (): Promise<number> => (await store.journal.list(100)).length;
  const inUse = async (key: string): Promise<number | undefined> => (await limiter.peek("slots", key)).inUse;
  return { limiter, used, open, inUse };
}

describe("a process that is killed", () => {
  const redis = useRedis();

  it("at any step of a reservation leaves what was spent or settled, and nothing is given back twice", async () => {
    const prefix = redis.newPrefix();
    const { limiter, used, open, inUse } = survivor(redis.store({ prefix }));
    const stepsOf = (mode: string, count: number) =>
      Array.from({ length: count }, (_, i) => i + 1).flatMap((step) =>
        ["before", "after"].map((when) => ({ step, when, mode, key: `${mode} ${when} ${step}` })),
      );
    const cases = [...stepsOf("separate", 10), ...stepsOf("atomic", 8)];
    const waiting = [...cases];
    const outcomes = new Map<string, string>();
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { step, when, mode, key } = next;
        await limiter.check("tokens", key, { cost: 300 });
        const child = start(redis.server.url, prefix, key, step, when, mode);
        const isDone = (message: object): boolean => "done" in message;
        outcomes.set(
          key,
          await child.next(isDone).then(
            () => "done",
            () => "killed",
          ),
        );
      }
    };
    await Promise.all([work(), work(), work(), work(), work(), work()]);
    await eventually("all are cleaned up", async () => (await open()) === 0, 60_000);
    for (const { key, step, mode, when } of cases) {
      // Nothing, what was spent at the last renewal, or what was settled.
      expect(
        [
          [300, 0],
          [325, 2],
          [310, 2],
        ],
        key,
      ).toContainEqual(await used(key));
      const isBeforeSpending = mode === "separate" ? step <= 2 : step <= 1;
      if (isBeforeSpending) expect(await used(key), `${key} ${when}`).toEqual([300, 0]);
      await eventually(`the slot of ${key} is back`, async () => (await inUse(key)) === 0);
    }
    expect([...outcomes.values()].filter((outcome) => outcome === "killed").length).toBeGreaterThanOrEqual(24);
  });

  it("or frozen past the deadline learns that the reservation is lost, and settling charges nothing", async () => {
    const prefix = redis.newPrefix();
    const { limiter, used, inUse } = survivor(redis.store({ prefix }));
    await limiter.check("tokens", "frozen", { cost: 300 });
    const child = start(redis.server.url, prefix, "frozen", 0);
    await child.next((message: object) => "reserved" in message);
    expect(await used("frozen")).toEqual([360, 2]);
    expect(await inUse("frozen")).toBe(1);
    child.pause();
    await eventually("it is released", async () => (await used("frozen"))[0] === 300);
    const lost = child.next<{ readonly lost: string }>((message) => "lost" in message);
    child.resume();
    expect(await lost).toEqual({ lost: "HG_RESERVATION_LOST" });
    const settled = child.next((message: object) => "code" in message);
    child.send("settle");
    expect(await settled).toEqual({ code: "HG_RESERVATION_LOST", aborted: true });
    expect(await used("frozen")).toEqual([300, 0]);
    expect(await inUse("frozen")).toBe(0);
  });
});

describe("when a server of a cluster fails", () => {
  let cluster: RedisCluster;
  let store: RedisStore;
  beforeAll(async () => {
    cluster = await startCluster();
    store = new RedisStore(cluster.url, { prefix: "failover", timeoutMs: PATIENCE_MS });
    await store.ready();
  });
  afterAll(async () => {
    await store?.close();
    await cluster?.stop();
  });

  it("reservations that were replicated are settled and cleaned up as before", async () => {
    const { limiter, used, open, inUse } = survivor(store);
    const key = "team";
    await limiter.check("tokens", key, { cost: 300 });
    const own = await limiter.reserve(
      [
        { rule: "tokens", key, cost: 60 },
        { rule: "calls", key, cost: 2 },
        { rule: "slots", key },
      ],
      { forMs: 60_000 },
    );
    const child = start(cluster.url, "failover", key, 0);
    await child.next((message: object) => "reserved" in message);
    child.kill();
    expect(await used(key)).toEqual([420, 4]);
    const master = await cluster.masterOf(`{${key}}`);
    await eventually("the replica has it", async () => {
      const [replica] = await cluster.replicasOf(master);
      const keys = [await master.ask("DBSIZE"), await replica.ask("DBSIZE")];
      return keys[0] === keys[1];
    });
    await master.stop();
    await eventually("the replica has taken over", async () => (await used(key))[0] > 0, 60_000);
    // The client still closes connections while it learns who has taken over.
    await eventually("its slot is still in use", async () => ((await inUse(key)) ?? 0) > 0);
    await eventually("it is settled", async () => (await own.settle({ tokens: 10 })) !== undefined);
    await eventually("the other one is cleaned up", async () => (await open()) === 0, 60_000);
    expect(await used(key)).toEqual([310, 2]);
    await eventually("its slot is back", async () => (await inUse(key)) === 0);
  });
});
