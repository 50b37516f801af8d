import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CutProxy, startCutProxy } from "../src/cut-proxy.ts";
import { eventually } from "../src/eventually.ts";
import { type RedisServer, startRedis } from "../src/redis-server.ts";

describe("the proxy that cuts", () => {
  let server: RedisServer;
  let proxy: CutProxy;
  let client: Redis;
  beforeEach(async () => {
    server = await startRedis();
    proxy = await startCutProxy(server.port);
    client = new Redis(proxy.url, { maxRetriesPerRequest: 0, enableOfflineQueue: false, retryStrategy: () => 5 });
    client.on("error", () => {});
    await ready();
  });
  afterEach(async () => {
    client.disconnect();
    await proxy.stop();
    await server.stop();
  });

  function ready(): Promise<void> {
    return new Promise((resolve) => client.once("ready", () => resolve()));
  }

  it("passes requests and replies on", async () => {
    expect(await client.incr("a")).toBe(1);
    expect(await client.incr("a")).toBe(2);
  });

  it("loses the reply to a request that the server ran, once", async () => {
    const lost = proxy.loseReply("INCR");
    expect(await client.get("a")).toBe(null);
    const again = ready();
    await expect(client.incr("a")).rejects.toThrow();
    await lost;
    expect(await server.ask("GET", "a")).toBe("1");
    await again;
    expect(await client.incr("a")).toBe(2);
  });

  it("loses as many replies as it is asked to", async () => {
    const lost = [proxy.loseReply("incr"), proxy.loseReply("incr")];
    for (const done of lost) {
      const again = ready();
      await expect(client.incr("a")).rejects.toThrow();
      await done;
      await again;
    }
    expect(await client.incr("a")).toBe(3);
  });

  it("cuts now, and lets the client come back", async () => {
    const again = ready();
    proxy.cut();
    await again;
    expect(await client.incr("a")).toBe(1);
  });

  it("refuses until it accepts again, on the same port", async () => {
    await proxy.refuse();
    const refused = new Redis(proxy.url, { lazyConnect: true, retryStrategy: () => null });
    refused.on("error", () => {});
    await expect(refused.connect()).rejects.toThrow();
    const again = ready();
    await proxy.accept();
    await again;
    expect(await client.incr("a")).toBe(1);
  });

  it("delays replies and keeps their order", async () => {
    const order: string[] = [];
    const begin = performance.now();
    proxy.delayMs = 60;
    const slow = client.incr("a").then(() => order.push("slow"));
    await eventually("the server ran it", async () => (await server.ask("GET", "a")) === "1");
    proxy.delayMs = 0;
    const quick = client.incr("a").then(() => order.push("quick"));
    await Promise.all([slow, quick]);
    expect(order).toEqual(["slow", "quick"]);
    // A timer may fire a fraction of a millisecond early.
    expect(performance.now() - begin).toBeGreaterThanOrEqual(59);
  });
});
