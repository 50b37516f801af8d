import { slidingWindowLog } from "headgate";
import { split } from "headgate/redis";
import { eventually } from "headgate-testkit/eventually";
import { startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { simulateCluster } from "../../src/cluster/simulate-cluster.ts";
import { trafficSource } from "../../src/traffic/traffic-model.ts";

const RULE = { name: "api", limit: slidingWindowLog("300/h") };

let redis: Awaited<ReturnType<typeof startRedis>>;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** A replica with a connection of its own. */
function replica() {
  const client = new Redis(redis.port, "127.0.0.1", { maxRetriesPerRequest: 0, lazyConnect: false });
  client.on("error", () => {});
  const store = split(client, { group: "compared" });
  let admitted = 0;
  return {
    store,
    ready: () => store.ready(),
    /** Takes until it is denied, and returns how much it was admitted so far. */
    takeAll(): number {
      while (store.apply("take", [{ rule: RULE, key: "user:1", cost: 1 }])[0].allowed) admitted += 1;
      return admitted;
    },
    /** As if the process had died: it sends nothing more, and does not leave the group. */
    kill: () => client.disconnect(),
    async close() {
      await store.close().catch(() => {});
      client.disconnect();
    },
  };
}

it.each([true, false])(
  "admits as much as replicas on a real Redis when one starts and another ends: killed %s",
  async (isKilled) => {
    const first = replica();
    let second: ReturnType<typeof replica> | undefined;
    let real = 0;
    try {
      await first.ready();
      await eventually("the first has the whole limit", async () => first.takeAll() >= 300);
      second = replica();
      const { ready, takeAll } = second;
      await ready();
      await eventually("the second has half of it", async () => takeAll() >= 150);
      expect(first.takeAll()).toBe(300);
      if (isKilled) first.kill();
      else await first.close();
      await eventually("the second has the whole limit", async () => takeAll() >= 300);
      real = 300 + takeAll();
    } finally {
      await second?.close();
      await first.close();
    }
    const source = trafficSource({ name: "k", rate: 1_000, keys: 1 });
    const { admitted, failed } = await simulateCluster({
      traffic: { seed: 1, start: 1_767_225_600_000_000, durationMs: 5_000, sources: [source] },
      rule: RULE,
      cluster: {
        nodes: 1,
        consistency: "split",
        shards: 1,
        leastDelayMs: 0.1,
        mostDelayMs: 0.3,
        slowDelayMs: 2,
        loss: 0,
        callUs: 15,
        timeoutMs: 250,
        pauses: [],
        starts: [{ atMs: 1_000 }],
        ends: [{ node: 0, atMs: 2_500, isKilled }],
        failovers: [],
      },
    });
    expect({ admitted, failed }).toEqual({ admitted: real, failed: 0 });
  },
);
