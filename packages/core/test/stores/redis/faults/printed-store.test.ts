import { inspect } from "node:util";
import { Cluster, Redis } from "ioredis";
import { afterAll, describe, expect, it } from "vitest";
import { cached, leased, rateLimiter, resilient, type Store, tokenBucket } from "../../../../src/index.ts";
import { clusterOptions, RedisStore, redisOptions, split } from "../../../../src/redis.ts";

const SECRET = "pl4nted-s3cret";
const close: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of close) await end();
});

/** No server listens there, and no request is sent. */
const HOST = "127.0.0.1:1";

function made<Value extends { close(): unknown }>(value: Value): Value {
  close.push(() => value.close());
  return value;
}

function handed<Client extends Redis | Cluster>(client: Client): Client {
  close.push(() => client.disconnect());
  return client;
}

const stores: Record<string, () => Store & { close(): Promise<void> }> = {
  "of a URL": () => new RedisStore(`redis://user:${SECRET}@${HOST}`),
  "of a URL of a cluster": () => new RedisStore(`redis+cluster://user:${SECRET}@${HOST}`),
  "of a URL of sentinels": () => new RedisStore(`redis+sentinel://:${SECRET}1@${HOST}/m?sentinel_password=${SECRET}2`),
  "of a client": () => new RedisStore(handed(new Redis({ port: 1, password: SECRET, ...redisOptions }))),
  "of a cluster's client": () => {
    const options = { ...clusterOptions, redisOptions: { ...clusterOptions.redisOptions, password: SECRET } };
    return new RedisStore(handed(new Cluster([{ port: 1 }], options)));
  },
  "of shares": () => split(handed(new Redis({ port: 1, password: SECRET, ...redisOptions })), { group: "g" }),
};

describe("a store that is printed shows no password", () => {
  it.each(Object.keys(stores))("%s", async (what) => {
    const store = made(stores[what]());
    // It listens, too.
    store.notifications?.subscribe("topic", () => {});
    const strict = made(resilient(store, { onDegraded: () => {} }));
    await Promise.resolve(
      strict.apply("take", [{ rule: { name: "r", limit: tokenBucket("1/s") }, key: "k", cost: 1 }]),
    );
    const limiter = rateLimiter({ api: tokenBucket("1/s") }, { store: strict });
    const all = [
      store,
      strict,
      made(cached(strict)),
      made(leased(strict)),
      limiter,
      store.notifications,
      store.journal,
    ];
    for (const value of all) {
      const texts = [inspect(value, { depth: 30, showHidden: true }), JSON.stringify(value), String(value)];
      expect(texts.join("\n")).not.toContain(SECRET);
    }
  });
});
