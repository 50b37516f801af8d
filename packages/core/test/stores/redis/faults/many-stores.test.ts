import { freePort } from "headgate-testkit/free-port";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cached, leased, resilient } from "../../../../src/index.ts";
import { clusterOptions, RedisStore, redisOptions, split } from "../../../../src/redis.ts";
import { operation } from "../../conformance/context.ts";
import { counted, counts, PATIENT, take } from "./calls.ts";

const STORES = 40;

describe("many stores on one client", () => {
  let server: RedisServer;
  const warnings: Error[] = [];
  const keep = (warning: Error): void => {
    warnings.push(warning);
  };
  beforeAll(async () => {
    server = await startRedis();
    process.on("warning", keep);
  });
  afterAll(async () => {
    process.off("warning", keep);
    await server?.stop();
  });

  function listeners(client: Redis | Cluster): number {
    return client.eventNames().reduce((sum, event) => sum + client.listenerCount(event), 0);
  }

  it("listen to it together, before and after it is connected, and all of them answer", async () => {
    const client = new Redis(server.url, redisOptions);
    const wrap = [resilient, cached, leased, (store: RedisStore) => store] as const;
    const stores = Array.from({ length: STORES }, (_, i) => new RedisStore(client, { prefix: `p${i}`, ...PATIENT }));
    const wrapped = stores.map((store, i) => wrap[i % wrap.length](store));
    const splits = Array.from({ length: STORES }, (_, i) => split(client, { group: `g${i}` }));
    const atFirst = listeners(client);
    const asked = wrapped.map((store) => store.apply("take", [operation(counted, "a")]));
    const answers = (await Promise.all(asked)).map(([{ allowed }]) => String(allowed));
    expect(answers).toEqual(Array(STORES).fill("true"));
    const after = Array.from({ length: STORES }, (_, i) => new RedisStore(client, { prefix: `q${i}`, ...PATIENT }));
    expect(counts(await Promise.all(after.map((store) => take(store, "a"))))).toEqual({ allowed: STORES });
    expect(atFirst).toBeLessThan(15);
    expect(listeners(client)).toBeLessThan(15);
    await Promise.all([...wrapped, ...splits].map((store) => store.close()));
    client.disconnect();
    expect(warnings).toEqual([]);
  });

  it.each(["a server", "a cluster"])("fail together while %s is gone", async (what) => {
    const port = await freePort();
    const client = what === "a server" ? new Redis({ port, ...redisOptions }) : new Cluster([{ port }], clusterOptions);
    const stores = Array.from({ length: STORES }, (_, i) => new RedisStore(client, { prefix: `p${i}`, ...PATIENT }));
    expect(counts(await Promise.all(stores.map((store) => take(store, "a"))))).toEqual({
      HG_STORE_UNREACHABLE: STORES,
    });
    client.disconnect();
    expect(warnings).toEqual([]);
  });

  it("on a client that may charge twice say so once", async () => {
    const client = new Redis(server.url);
    const stores = Array.from({ length: STORES }, (_, i) => new RedisStore(client, { prefix: `r${i}`, ...PATIENT }));
    await Promise.all(stores.map((store) => take(store, "a")));
    client.disconnect();
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.map((warning) => "code" in warning && warning.code)).toEqual(["HG_UNSAFE_CLIENT"]);
  });
});
