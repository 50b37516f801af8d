import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisStore } from "../../../../src/redis.ts";
import { ask } from "../../conformance/context.ts";
import { charged, counted, ended, PATIENT, take } from "./calls.ts";

describe("a Redis that has no memory left, and evicts nothing", () => {
  let server: RedisServer;
  let store: RedisStore;
  beforeAll(async () => {
    server = await startRedis({ config: { "maxmemory-policy": "noeviction" } });
    store = new RedisStore(server.url, PATIENT);
    await take(store, "a");
    await server.ask("CONFIG", "SET", "maxmemory", "1");
  });
  afterAll(async () => {
    await store?.close();
    await server?.stop();
  });

  it.each(["take", "peek", "penalize", "refund", "reset"] as const)("refuses %s as out of memory", async (action) => {
    const end = await ended(() => ask(store, action, counted, "a"));
    expect(end).toMatchObject({ as: "HG_STORE_REFUSED", message: expect.stringMatching(/raise maxmemory.*OOM/) });
  });

  it("refuses each request of a tick, with and without an idempotency key", async () => {
    const calls = ["a", "b", "c"].map((key) => take(store, key));
    const once = store.apply("take", [{ rule: counted, key: "a", cost: 1 }], { idempotencyKey: "k" });
    await expect(once).rejects.toMatchObject({ code: "HG_STORE_REFUSED" });
    expect((await Promise.all(calls)).map(({ as }) => as)).toEqual(Array(3).fill("HG_STORE_REFUSED"));
  });

  it("has charged nothing of it, and answers again once there is memory", async () => {
    await server.ask("CONFIG", "SET", "maxmemory", "0");
    expect(await Promise.all(["a", "b", "c"].map((key) => charged(store, key)))).toEqual([1, 0, 0]);
    expect((await take(store, "a")).as).toBe("allowed");
    expect(await charged(store, "a")).toBe(2);
  });
});
