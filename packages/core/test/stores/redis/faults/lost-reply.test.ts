import { type CutProxy, startCutProxy } from "headgate-testkit/cut-proxy";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StoreError } from "../../../../src/index.ts";
import { RedisStore, redisOptions } from "../../../../src/redis.ts";
import { operation } from "../../conformance/context.ts";
import { charged, counted, take } from "./calls.ts";

describe("a reply that is lost after the script ran", () => {
  let server: RedisServer;
  let proxy: CutProxy;
  let client: Redis;
  let store: RedisStore;
  let other: RedisStore;
  beforeAll(async () => {
    server = await startRedis();
    proxy = await startCutProxy(server.port);
    client = new Redis(proxy.url, redisOptions);
    client.on("error", () => {});
    store = new RedisStore(client);
    other = new RedisStore(server.url);
    await take(store, "warm");
  });
  afterAll(async () => {
    await other?.close();
    client?.disconnect();
    await proxy?.stop();
    await server?.stop();
  });

  function once(at: RedisStore, key: string, idempotencyKey: string, cost = 3) {
    return at.apply("take", [operation(counted, key, cost)], { idempotencyKey });
  }

  /** Loses the reply to what the call sends, and waits until the client is connected again. */
  async function losing<T>(call: () => Promise<T>): Promise<T> {
    const lost = proxy.loseReply("evalsha");
    const again = new Promise((resolve) => client.once("ready", resolve));
    const result = await call();
    await lost;
    await again;
    return result;
  }

  it("the call fails as unreachable, and is charged once: it is not silently retried", async () => {
    expect((await losing(() => take(store, "alone"))).as).toBe("HG_STORE_UNREACHABLE");
    await take(store, "after");
    expect(await charged(other, "alone")).toBe(1);
  });

  it("all calls of a tick fail, and each is charged once", async () => {
    const calls = await losing(() => Promise.all(Array.from({ length: 20 }, (_, i) => take(store, `tick${i}`))));
    expect(new Set(calls.map(({ as }) => as))).toEqual(new Set(["HG_STORE_UNREACHABLE"]));
    for (let i = 0; i < 20; i += 1) expect(await charged(other, `tick${i}`)).toBe(1);
  });

  it("repeated under its idempotency key: the decision is the one that was lost, and it is charged once", async () => {
    await losing(() => expect(once(store, "repeated", "k1")).rejects.toThrow(StoreError));
    const again = await once(store, "repeated", "k1");
    expect(again).toEqual(await once(other, "repeated", "k1"));
    expect(again[0]).toMatchObject({ allowed: true, remaining: 999_999_997 });
    expect(await charged(other, "repeated")).toBe(3);
  });

  it("duplicates at the same time from two stores: one charge, identical answers", async () => {
    const calls = Array.from({ length: 40 }, (_, i) => once(i % 2 === 0 ? store : other, "twins", "k2"));
    const [first, ...rest] = await Promise.all(calls);
    for (const answers of rest) expect(answers).toEqual(first);
    expect(await charged(other, "twins")).toBe(3);
  });

  it("another request under the same key: a conflict, which is the caller's and charges nothing", async () => {
    await once(store, "conflict", "k3");
    await expect(once(store, "conflict", "k3", 4)).rejects.toMatchObject({ code: "HG_IDEMPOTENCY_CONFLICT" });
    await expect(once(store, "conflict", "k3", 4)).rejects.not.toBeInstanceOf(StoreError);
    expect(await charged(other, "conflict")).toBe(3);
  });
});
