import { setTimeout as delay } from "node:timers/promises";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisStore } from "../../../../src/redis.ts";
import { charged, counts, PATIENT, Traffic, take } from "./calls.ts";

describe("a Redis that is flushed in the midst of traffic", () => {
  let server: RedisServer;
  let store: RedisStore;
  beforeAll(async () => {
    server = await startRedis();
    store = new RedisStore(server.url, PATIENT);
  });
  afterAll(async () => {
    await store?.close();
    await server?.stop();
  });

  it("SCRIPT FLUSH: no caller notices, and each call is charged once", async () => {
    const traffic = new Traffic(store, ["scripts"]);
    for (let i = 0; i < 5; i += 1) {
      await delay(40);
      await server.ask("SCRIPT", "FLUSH");
    }
    await delay(40);
    const calls = await traffic.stop();
    expect(calls.length).toBeGreaterThan(50);
    expect(counts(calls)).toEqual({ allowed: calls.length });
    expect(await charged(store, "scripts")).toBe(calls.length);
    expect(Number(/evalsha:.*?failed_calls=(\d+)/.exec(await server.ask("INFO", "commandstats"))?.[1])).toBeGreaterThan(
      0,
    );
  });

  it("FLUSHALL: no call fails, and counting starts from zero", async () => {
    const traffic = new Traffic(store, ["keys"]);
    await delay(100);
    await server.ask("FLUSHALL");
    await delay(100);
    const calls = await traffic.stop();
    expect(counts(calls)).toEqual({ allowed: calls.length });
    const since = await charged(store, "keys");
    expect(since).toBeGreaterThan(0);
    expect(since).toBeLessThan(calls.length);
    await server.ask("FLUSHALL");
    expect((await take(store, "keys")).as).toBe("allowed");
    expect(await charged(store, "keys")).toBe(1);
  });
});
