// Uses the Redis whose address is given in every way the library offers, and prints what came of it.
import process from "node:process";
import { cached, fixedWindow, leased, rateLimiter, resilient, tokenBucket } from "headgate";
import { RedisStore, redisOptions, split } from "headgate/redis";
import { rateLimit } from "headgate/web";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";

const url = process.argv[2];
/** Longer than any machine needs for an answer. */
const patient = { timeoutMs: 30_000 };
const unhurried = { deadlineMs: 30_000 };

console.log(
  JSON.stringify({
    reservation: await reservation(),
    clients: {
      ioredis: await admitted("ioredis", (store) => store),
      redis: await admitted("redis", (store) => store, await nodeRedis()),
      iovalkey: await admitted("iovalkey", (store) => store, valkey()),
    },
    wrappers: {
      resilient: await admitted("resilient", (store) => resilient(store, unhurried)),
      leased: await admitted("leased", (store) => leased(resilient(store, unhurried))),
      cached: await admitted("cached", (store) => cached(resilient(store, unhurried))),
      split: await admitted("split", (store) => split(store, { group: "runtimes" })),
    },
  }),
);
process.exit();

/** Reserves, and settles less. */
async function reservation() {
  const store = new RedisStore(url, patient);
  await store.ready();
  const limiter = rateLimiter({ tokens: tokenBucket("10/d") }, { store });
  const limited = rateLimit(limiter, { rules: { rule: "tokens", reserve: 6 }, by: { header: "x-key" } });
  const handler = limited(async (_request, admission) => {
    const { remaining } = await limiter.peek("tokens", "header:ann");
    await admission.settle(2);
    return Response.json({ reserved: Math.round(10 - remaining) });
  });
  const response = await handler(new Request("http://localhost/", { headers: { "x-key": "ann" } }));
  const { reserved } = await response.json();
  const { remaining, source } = await limiter.peek("tokens", "header:ann");
  return { reserved, settled: Math.round(10 - remaining), source };
}

/** How many of 30 checks at once pass under a limit of 10. */
async function admitted(rule, wrap, client = url) {
  const store = wrap(new RedisStore(client, patient));
  const limiter = rateLimiter({ [rule]: fixedWindow("10/d") }, { store });
  await store.ready?.();
  const decisions = await Promise.all(Array.from({ length: 30 }, () => limiter.check(rule, "bob")));
  await store.close?.();
  return decisions.filter(({ allowed, degraded }) => allowed && !degraded).length;
}

async function nodeRedis() {
  const client = createClient({ url, disableOfflineQueue: true });
  await client.connect();
  return client;
}

function valkey() {
  return new Valkey(url, redisOptions);
}
