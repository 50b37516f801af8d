import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startExample, statuses } from "./example.ts";

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis.stop());

async function started(name: string) {
  const example = await startExample(name, { REDIS_URL: redis.url });
  onTestFinished(() => example.stop());
  return example;
}

describe("the example of", () => {
  it("redis shares a limit between two processes, and keeps working without Redis", async () => {
    const example = await started("redis");
    const calls = await example.callTimes(7);
    expect(statuses(calls)).toEqual([200, 200, 200, 200, 200, 200, 429]);
    const said = calls
      .slice(0, 6)
      .map(({ text }) => /^process (\d+): (\d) more, decided by the (\w+)\n$/.exec(text) ?? []);
    expect(new Set(said.map(([, pid]) => pid)).size).toBe(2);
    expect(said.map(([, , left, source]) => `${left} ${source}`)).toEqual([5, 4, 3, 2, 1, 0].map((n) => `${n} store`));
    await redis.kill();
    // Redis has denied this client, so a process allows its next call only after 20 s.
    const isWithout = async () => (await example.call()).text.includes("fallback");
    await eventually("a process answers without Redis", isWithout, 90_000);
    await redis.restart();
  });

  it("cached asks Redis about a new client, then answers by itself, and updates Redis afterwards", async () => {
    // After a second, the cache asks Redis again. On a busy machine, the calls of one attempt may take longer.
    await eventually("it answers by itself", async () => {
      await redis.ask("FLUSHALL");
      const example = await startExample("cached", { REDIS_URL: redis.url });
      try {
        const calls = await example.callTimes(7);
        expect(statuses(calls)).toEqual([200, 200, 200, 200, 200, 429, 429]);
        expect(calls[0].text).toBe("hello, decided by the store\n");
        expect(calls[1].text).toBe("hello, decided by the cache\n");
        const stats = async () => JSON.parse((await example.call("/stats")).text);
        await eventually("Redis knows", async () => (await stats()).pendingUnits === 0);
        expect(await stats()).toMatchObject({ denied: 1, failedFlushes: 0, limitedKeys: 1 });
        return true;
      } finally {
        await example.stop();
      }
    });
    expect(await redis.ask("KEYS", "*:api:sliding_window_counter")).toContain("ip:127.0.0.1");
  });

  it("split gives each replica half of the limit", async () => {
    const example = await started("split");
    const calls = await example.callTimes(9);
    expect(statuses(calls)).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 429]);
    const replicas = calls.slice(0, 8).map(({ text }) => text);
    for (const rank of [0, 1]) expect(replicas.filter((text) => text === `replica ${rank} of 2\n`)).toHaveLength(4);
  });
});
