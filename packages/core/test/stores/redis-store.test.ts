import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import { RedisStore, redisOptions } from "../../src/redis.ts";
import { ManualClock } from "../../src/testing/index.ts";
import { slotConformance } from "./slot-conformance.ts";
import { storeConformance } from "./store-conformance.ts";

let server: RedisServer;
let client: Redis;
let stores = 0;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url, redisOptions);
  await new Promise((resolve) => client.once("ready", resolve));
});
afterAll(async () => {
  client?.disconnect();
  await server?.stop();
});

for (const conformance of [storeConformance, slotConformance]) {
  conformance("RedisStore by its own clock", async () => {
    stores += 1;
    const store = new RedisStore(client, { prefix: `own${stores}`, timeoutMs: 30_000 });
    await store.ready();
    return { store };
  });

  conformance("RedisStore", () => {
    stores += 1;
    const clock = new ManualClock(1_700_000_000_123.457);
    return { store: new RedisStore(client, { prefix: `manual${stores}`, clock, timeoutMs: 30_000 }), clock };
  });
}
