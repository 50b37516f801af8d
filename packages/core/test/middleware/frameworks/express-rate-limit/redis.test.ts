import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HeadgateStore, rateLimit } from "../../../../src/middleware/express-rate-limit.ts";
import { RedisStore, redisOptions } from "../../../../src/redis.ts";
import { behaviours } from "./behaviours.ts";
import { dateClock, observe, original, type RateLimit, silent } from "./observe.ts";

let server: RedisServer;
let client: Redis;
let stores = 0;

beforeAll(async () => {
  server = await startRedis();
  // On a busy machine Redis may take longer than the default of a second.
  client = new Redis(server.url, { ...redisOptions, socketTimeout: 30_000 });
  await new Promise((resolve) => client.once("ready", resolve));
});
afterAll(async () => {
  client?.disconnect();
  await server?.stop();
});

function redis(): RedisStore {
  stores += 1;
  return new RedisStore(client, { prefix: `erl${stores}`, clock: dateClock, timeoutMs: 30_000 });
}

const overRedis: Readonly<Record<string, RateLimit>> = {
  "headgate/express-rate-limit": (given) => rateLimit({ logger: silent, store: redis(), ...given }),
  "express-rate-limit over a HeadgateStore": (given) => original({ store: new HeadgateStore(redis()), ...given }),
};

describe.each(Object.entries(overRedis))("%s on Redis", (_name, rateLimit) => {
  it.each(behaviours)("%s, as express-rate-limit does", async (_behaviour, _statuses, behaviour) => {
    expect(await observe(behaviour, rateLimit, () => client.ping())).toEqual(await observe(behaviour));
  });
});
