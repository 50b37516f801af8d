import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import type { RedisServer } from "headgate-testkit/redis-server";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type Answer, cached, fixedWindow, type Store } from "../../../src/index.ts";
import { clusterOptions, RedisStore } from "../../../src/redis.ts";
import { ask, operation, rule } from "../../stores/conformance/context.ts";

const LIMIT = 200;
const ROUNDS = 60;
// A window that does not end during the test, wherever in it the test starts.
const each = rule("each", fixedWindow({ limit: LIMIT, windowMs: 10 * 365 * 86_400_000 }));
const keys = Array.from({ length: 12 }, (_, i) => `user-${i}`);

let cluster: RedisCluster;
let client: Cluster;
let redis: RedisStore;

beforeAll(async () => {
  vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  // No replica takes over: the shard stays dead, and the others keep working.
  cluster = await startCluster({ "cluster-require-full-coverage": "no", "cluster-replica-no-failover": "yes" });
  client = new Cluster(cluster.addresses, clusterOptions);
  client.on("error", () => {});
  redis = new RedisStore(client);
  await redis.ready();
});

afterAll(async () => {
  await redis?.close();
  client?.disconnect();
  await cluster?.stop();
});

async function shardOf(key: string): Promise<RedisServer> {
  return cluster.masterOf(`{${key}}`);
}

async function take(store: Store, key: string): Promise<Answer> {
  const [answer] = await store.apply("take", [operation(each, key)]);
  return answer;
}

it("a dead shard of a cluster leaves the keys of the others to the store, and its own to this process", async () => {
  const node = cached(redis);
  const shards = await Promise.all(keys.map(shardOf));
  const dead = shards[0];
  const lost = keys.filter((_, i) => shards[i] === dead);
  const live = keys.filter((_, i) => shards[i] !== dead);
  expect(live.length).toBeGreaterThan(0);
  const letIn = new Map(keys.map((key) => [key, 0]));
  const askFor = async (key: string): Promise<Answer> => {
    const answer = await take(node, key);
    if (answer.allowed) letIn.set(key, (letIn.get(key) ?? 0) + 1);
    return answer;
  };
  for (const key of keys) expect(await askFor(key)).toMatchObject({ allowed: true, source: "store", degraded: false });

  await dead.kill();
  for (const key of lost) {
    await eventually(`${key} is decided without its shard`, async () => (await askFor(key)).degraded);
  }
  // While the shard dies, it is unknown for a moment whether the whole store has failed.
  await eventually("the others are known to be there", async () => {
    const answers = [];
    for (const key of keys) answers.push({ key, ...(await askFor(key)) });
    return answers.every(({ key, degraded }) => degraded === lost.includes(key));
  });
  // Almost all, and not at once: on a busy machine, all of the cluster may be silent for a moment.
  await eventually("the store decides nine in ten of the others", async () => {
    const ofLive: Answer[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const key of lost) await askFor(key);
      for (const key of live) ofLive.push(await askFor(key));
      await delay(2);
    }
    return ofLive.filter(({ degraded }) => degraded).length < ofLive.length / 10;
  });

  // Of live shards everything is counted in the store.
  await eventually("all is written", async () => node.stats.pendingUnits === 0);
  for (const key of live) expect((await ask(redis, "peek", each, key)).remaining).toBe(LIMIT - (letIn.get(key) ?? 0));

  // Of the dead one this process keeps to the limit by itself.
  for (let i = 0; i < 2 * LIMIT; i += 1) await askFor(lost[0]);
  expect(letIn.get(lost[0])).toBeLessThanOrEqual(LIMIT);
  expect(await askFor(lost[0])).toMatchObject({ allowed: false, source: "cache", degraded: true });

  await dead.restart();
  for (const key of lost) {
    await eventually(`${key} is decided by its shard again`, async () => {
      const { source, degraded } = await take(node, `${key}`);
      return !degraded && (source === "store" || source === "cache");
    });
  }
  await node.close();
});
