import { eventually } from "headgate-testkit/eventually";
import { startCluster } from "headgate-testkit/redis-cluster";
import { startRedis } from "headgate-testkit/redis-server";
import { Cluster, Redis } from "ioredis";
import { expect, it, onTestFinished } from "vitest";
import { clusterOptions, RedisStore, redisOptions } from "../../../src/redis.ts";
import { type SplitOptions, split } from "../../../src/wrappers/split/split.ts";

const options: SplitOptions = { group: "web", beatMs: 100, leaseMs: 1000 };

async function sharesThree(client: Redis | Cluster | RedisStore): Promise<void> {
  const stores = [split(client, options), split(client, options), split(client, options)];
  await Promise.all(stores.map((store) => store.ready()));
  expect(stores.map((store) => store.stats.rank).sort()).toEqual([0, 1, 2]);
  await Promise.all(stores.map((store) => store.close()));
}

/** It is still the caller's. */
async function isOpen(client: Redis | Cluster): Promise<void> {
  expect(await client.hkeys("rl:{split:web}")).toEqual(["group"]);
}

it("replicas share over a client of one server", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const client = new Redis(server.url, redisOptions);
  onTestFinished(() => client.disconnect());
  await sharesThree(client);
  await isOpen(client);
});

it("replicas share over a client of a cluster", async () => {
  const cluster = await startCluster();
  onTestFinished(() => cluster.stop());
  const client = new Cluster(cluster.addresses, clusterOptions);
  onTestFinished(() => client.disconnect());
  await sharesThree(client);
  await isOpen(client);
});

it("replicas share over the connection of a store, which stays open", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const store = new RedisStore(server.url, { timeoutMs: 30_000 });
  onTestFinished(() => store.close());
  await sharesThree(store);
  expect(await store.send(["HKEYS", "rl:{split:web}"])).toEqual([Buffer.from("group")]);
});

it("replicas share over a store of a cluster", async () => {
  const cluster = await startCluster();
  onTestFinished(() => cluster.stop());
  const store = new RedisStore(cluster.url, { timeoutMs: 30_000 });
  onTestFinished(() => store.close());
  await sharesThree(store);
});

it("a replica keeps its share when the server is restarted empty, and is back after one that was long away", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const client = new Redis(server.url, redisOptions);
  onTestFinished(() => client.disconnect());
  client.on("error", () => {});
  const store = split(client, { ...options, leaseMs: 3000 });
  onTestFinished(() => store.close());
  await store.ready();
  await server.kill();
  await server.restart();
  await eventually("it has told again", async () => (await server.ask("HLEN", "rl:{split:web}")) === "2");
  expect(store.stats).toMatchObject({ rank: 0, lapses: 0 });
  await server.kill();
  await eventually("its share lapses", async () => store.stats.rank === undefined);
  await server.restart();
  await store.ready();
  expect(store.stats).toMatchObject({ rank: 0, lapses: 1 });
});
