import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisStore } from "../../../../src/redis.ts";
import { charged, counts, Traffic, take } from "./calls.ts";

const TIMEOUT_MS = 30_000;

describe("a Redis that is killed and started again", () => {
  let server: RedisServer;
  let store: RedisStore;
  beforeAll(async () => {
    server = await startRedis();
    // No call comes near this deadline unless it waits for the server to return.
    store = new RedisStore(server.url, { timeoutMs: TIMEOUT_MS });
  });
  afterAll(async () => {
    await store?.close();
    await server?.stop();
  });

  it("calls fail at once as unreachable while it is away, and are answered after its return", async () => {
    const traffic = new Traffic(store, ["a"]);
    await eventually("calls are answered", async () => (await take(store, "a")).as === "allowed");
    await server.kill();
    const gone = performance.now();
    await delay(400);
    await server.restart();
    await eventually("calls are answered", async () => (await take(store, "b")).as === "allowed", 10_000);
    const calls = await traffic.stop();

    expect(new Set(Object.keys(counts(calls)))).toEqual(new Set(["allowed", "HG_STORE_UNREACHABLE"]));
    const between = calls.filter(({ begun }) => begun > gone && begun < gone + 350);
    expect(counts(between)).toEqual({ HG_STORE_UNREACHABLE: between.length });
    const times = between.map(({ took }) => took).sort((a, b) => a - b);
    expect(times[Math.floor(times.length / 2)]).toBeLessThan(TIMEOUT_MS / 10);
    expect(between.at(-1)?.message).toMatch(/ECONNREFUSED/);
  });

  it("the script is loaded again, and nothing is charged that was not answered since", async () => {
    await server.restart();
    await eventually("calls are answered", async () => (await take(store, "first")).as === "allowed");
    expect((await take(store, "c")).as).toBe("allowed");
    expect(await charged(store, "c")).toBe(1);
    expect(await charged(store, "a")).toBe(0);
  });
});
