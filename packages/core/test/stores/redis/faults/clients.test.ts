import { type CutProxy, startCutProxy } from "headgate-testkit/cut-proxy";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gcra, rateLimiter, resilient } from "../../../../src/index.ts";
import { clusterOptions, RedisStore, redisOptions } from "../../../../src/redis.ts";
import { ask, operation, remaining, rule } from "../../conformance/context.ts";
import { longRate } from "../../conformance/subjects.ts";
import { PATIENT } from "./calls.ts";

const ten = rule("ten", gcra(longRate(10)));

let server: RedisServer;
let proxy: CutProxy;
const clients: (Redis | Cluster)[] = [];
const stores: RedisStore[] = [];

beforeAll(async () => {
  server = await startRedis();
  proxy = await startCutProxy(server.port);
});

afterAll(async () => {
  for (const client of clients) client.disconnect();
  for (const store of stores) await store.close();
  await proxy?.stop();
  await server?.stop();
});

function clientWith(options: object): Redis {
  const client = new Redis(server.url, { ...redisOptions, ...options });
  clients.push(client);
  return client;
}

function storeAt(url: string): RedisStore {
  const store = new RedisStore(url, PATIENT);
  stores.push(store);
  return store;
}

describe("a client that is handed in", () => {
  it.each([{ enableAutoPipelining: true }, { keyPrefix: "app:" }, { stringNumbers: true }, { protocol: 2 }])(
    "may have %j",
    async (options) => {
      const store = new RedisStore(clientWith(options), { prefix: JSON.stringify(options).replaceAll(/[{}]/g, "") });
      const answers = await Promise.all(["a", "b", "a"].map((key) => ask(store, "take", ten, key, 4)));
      expect(answers.map(({ remaining }) => Math.round(remaining))).toEqual([6, 6, 2]);
      expect(Math.round((await ask(store, "refund", ten, "a", 4)).remaining)).toBe(6);
    },
  );
});

describe("a store that was never reached", () => {
  it("is not ready, be it a cluster or not", async () => {
    const cluster = new Cluster([{ host: "127.0.0.1", port: 1 }], { ...clusterOptions, clusterRetryStrategy: null });
    clients.push(cluster);
    for (const store of [new RedisStore(cluster), storeAt("redis://127.0.0.1:1")]) {
      await expect(store.ready()).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    }
  });

  it("charges nothing later for what was answered meanwhile", async () => {
    proxy.delayMs = 150;
    const store = storeAt(proxy.url);
    const limiter = rateLimiter(
      { ten: ten.limit },
      { store: resilient(store, { deadlineMs: 30, onDegraded: () => {} }) },
    );
    const decisions = await Promise.all([limiter.check("ten", "cold"), limiter.check("ten", "cold")]);
    expect(decisions.map(({ source }) => source)).toEqual(["fallback", "fallback"]);
    proxy.delayMs = 0;
    await store.ready();
    expect(await remaining(store, ten, "cold")).toBe(10);
  });
});

describe("the database of a URL", () => {
  it.each(["abc", "-1", "1/2"])("must be a number: %s", (database) => {
    expect(() => storeAt(`${server.url}/${database}`)).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field: "server" }),
    );
  });

  it("is used", async () => {
    const store = storeAt(`${server.url}/3`);
    await ask(store, "take", ten, "third");
    expect(await server.ask("-n", "3", "EXISTS", "rl:{third}:ten:gcra")).toContain("1");
  });

  it("must be there: nothing is counted in another one", async () => {
    const store = storeAt(`${server.url}/99`);
    await expect(store.ready()).rejects.toMatchObject({ code: "HG_STORE_REFUSED" });
    await expect(ask(store, "take", ten, "nowhere")).rejects.toMatchObject({ code: "HG_STORE_REFUSED" });
    expect(await server.ask("EXISTS", "rl:{nowhere}:ten:gcra")).toContain("0");
  });
});

describe("a key of another type that comes twice in one tick", () => {
  it("is refused twice, and the others are decided and charged", async () => {
    await server.ask("RPUSH", "rl:{bad}:ten:gcra", "x");
    const store = new RedisStore(clientWith({}));
    const settled = await Promise.allSettled(
      ["good", "bad", "bad", "better"].map((key) => store.apply("take", [operation(ten, key, 3)])),
    );
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(Math.round(await remaining(store, ten, "good"))).toBe(7);
    expect(Math.round(await remaining(store, ten, "better"))).toBe(7);
  });

  it("does not make resilient give the store up", async () => {
    const store = resilient(new RedisStore(clientWith({})), { onDegraded: () => {} });
    for (let i = 0; i < 10; i += 1) {
      expect((await store.apply("take", [operation(ten, "bad")]))[0].source).toBe("fallback");
    }
    expect(store.stats.breaker).toBe("closed");
    expect((await store.apply("take", [operation(ten, "fine")]))[0].source).toBe("store");
  });
});

describe("a limiter that is given a store as its options", () => {
  it("says how to give it", () => {
    const store = new RedisStore(clientWith({}));
    expect(() => rateLimiter({ ten: ten.limit }, store as never)).toThrow(/pass it as \{ store \}/);
  });
});
