import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { openStores, type Stores } from "../../../src/checks/counter-stores.ts";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import { type Service, startService } from "./service.ts";

let redis: RedisServer;
const opened: Stores[] = [];
let service: Service | undefined;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
afterEach(async () => {
  await service?.stop();
  service = undefined;
  for (const stores of opened.splice(0)) await stores.close();
});

/** The limits of one node of two. */
async function ofNode(): Promise<SelfLimits> {
  const settings = { redis: redis.url, zookeeper: undefined, nodes: 2, storeTimeoutMs: 1_000 };
  const stores = await openStores(settings, { onDegraded: () => {} });
  opened.push(stores);
  await stores.ready();
  return new SelfLimits({ store: stores.shared });
}

it("counts what an admin does on all nodes together", async () => {
  const nodes = [await ofNode(), await ofNode()];
  const begun = performance.now();
  const decisions = await Promise.all(Array.from({ length: 300 }, (_, i) => nodes[i % 2].admit("write", "busy")));
  // One more is available every 600 ms; what a busy machine does not get from Redis in time is ignored.
  const regained = Math.ceil((performance.now() - begun) / 600);
  const passed = decisions.filter(({ allowed, degraded }) => allowed && !degraded).length;
  expect(passed).toBeLessThanOrEqual(100 + regained);
  expect(passed).toBeGreaterThan(0);
  expect((await nodes[0].admit("write", "other")).allowed).toBe(true);
  expect((await nodes[0].admit("read", "busy")).allowed).toBe(true);
});

it("is asked before a change is made, and refuses it", async () => {
  const selfLimits = await ofNode();
  const elsewhere = await ofNode();
  service = await startService({ parts: () => ({ selfLimits }) });
  const { keys, ask } = service;
  const put = () => ask("PUT", "/api/v1/users/1/tier", { body: { tier: "premium" }, key: keys.write });
  expect((await put()).status).toBe(200);
  const id = keys.write.split("_")[1];
  let denied = await put();
  // Retried if a busy machine took so long between the two that one more was available, but not so often as to use it up.
  for (let tries = 0; tries < 20 && denied.status === 200; tries += 1) {
    await Promise.all(Array.from({ length: 150 }, () => elsewhere.admit("write", id)));
    denied = await put();
  }
  expect([denied.status, denied.body.code]).toEqual([429, "quota_exceeded"]);
});

it("locks no admin out while Redis is unavailable: each node uses its share", async () => {
  const selfLimits = await ofNode();
  await redis.kill();
  service = await startService({ parts: () => ({ selfLimits }) });
  const { keys, ask } = service;
  const statuses: number[] = [];
  for (let i = 0; i < 10; i += 1) {
    statuses.push((await ask("PUT", "/api/v1/users/1/tier", { body: { tier: "a" }, key: keys.write })).status);
  }
  await redis.start();
  expect(new Set(statuses)).toEqual(new Set([200]));
});
