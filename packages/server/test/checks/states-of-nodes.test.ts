import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openStores, type Stores } from "../../src/checks/counter-stores.ts";
import type { RateLimitRule } from "../../src/rules/rule.ts";
import { request, rule, type World, world } from "./fixtures.ts";

let server: RedisServer;
let redis: Redis;
const opened: Stores[] = [];

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  redis.on("error", () => {});
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
});
afterEach(async () => {
  for (const stores of opened.splice(0)) await stores.close();
});

async function node(of: RateLimitRule): Promise<World> {
  const settings = { redis: server.url, zookeeper: undefined, nodes: 2, storeTimeoutMs: 1_000 };
  const stores = await openStores(settings, { onDegraded: () => {} });
  opened.push(stores);
  await stores.ready();
  return world([of], { stores: async () => stores });
}

/** What the nodes have written of a key, once all that they have seen is written. */
async function told(nodes: readonly World[], identifier: string): Promise<unknown[]> {
  for (const { service } of nodes) await service.close();
  const events = nodes.flatMap(({ audited }) => audited);
  return events.filter(({ subject }) => subject === `user:${identifier}`).map(({ action }) => action);
}

// A day: hardly ever does a window end while a test runs.
const daily = { window_seconds: 86_400, limit: 10 };

describe("the states of a key on two nodes", () => {
  it("are the same at the same usage: what it is rises on both", async () => {
    const nodes = [await node(rule(daily)), await node(rule(daily))];
    const states: [number, string][] = [];
    for (let i = 0; i < 12; i += 1) {
      const { decisive } = await nodes[i % 2].service.check(request());
      if (decisive?.degraded === false) states.push([decisive.current_count, decisive.state]);
    }
    const stateAt = (count: number) => (count === 10 ? "throttled" : count > 8 ? "warning" : "normal");
    expect(states).toEqual(states.map(([count]) => [count, stateAt(count)]));
    expect(states.length).toBeGreaterThan(0);
  });

  it.each(["fixed_window", "token_bucket"] as const)(
    "of a %s are audited once when it is throttled",
    async (algorithm) => {
      const limited = rule({ ...daily, algorithm, limit: 1 });
      const nodes = [await node(limited), await node(limited)];
      for (const identifier of ["a", "b"]) {
        for (const { service } of nodes) {
          await service.check(request({ identifier }));
          expect(await service.check(request({ identifier }))).toMatchObject({ allowed: false });
        }
      }
      expect(await told(nodes, "a")).toEqual(["state.throttled"]);
      expect(await told(nodes, "b")).toEqual(["state.throttled"]);
      const [turn] = await redis.keys("rl:{user:a}:throttled:*");
      expect(await redis.pttl(turn)).toBeGreaterThan(0);
      expect(await redis.pttl(turn)).toBeLessThan(2 * 86_400_000);
    },
  );

  it("are audited once an hour, however many windows a key is throttled in", async () => {
    const limited = rule({ limit: 1, window_seconds: 1 });
    const nodes = [await node(limited), await node(limited)];
    await eventually("each node has seen it three times", async () => {
      for (const { service } of nodes) for (let i = 0; i < 2; i += 1) await service.check(request());
      return nodes.every(({ told }) => told.transitions.filter((each) => each.endsWith("throttled")).length >= 3);
    });
    expect(await told(nodes, "42")).toEqual(["state.throttled"]);
  });

  it("are audited again after a reset", async () => {
    const limited = rule({ ...daily, limit: 1 });
    const nodes = [await node(limited), await node(limited)];
    const throttle = async () => {
      for (const { service } of nodes) for (let i = 0; i < 2; i += 1) await service.check(request());
    };
    await throttle();
    await nodes[0].service.reset({ identifier: "42", dimension: "user" }, { id: "a", name: "a" });
    await throttle();
    expect((await told(nodes, "42")).toSorted()).toEqual(["limit.reset", "state.throttled", "state.throttled"]);
  });

  it("are audited by each that sees it while Redis is gone", async () => {
    const limited = rule({ ...daily, limit: 2 });
    const nodes = [await node(limited), await node(limited)];
    await server.kill();
    for (const { service } of nodes) for (let i = 0; i < 2; i += 1) await service.check(request());
    expect(await told(nodes, "42")).toEqual(["state.throttled", "state.throttled"]);
    await server.start();
  });
});
