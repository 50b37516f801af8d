import { startCutProxy } from "headgate-testkit/cut-proxy";
import { eventually } from "headgate-testkit/eventually";
import { afterAll, expect, it } from "vitest";
import { callsOf, useRedis } from "../../../stores/redis/redis.ts";
import { expectNoneOver, sleep, windowWithRoom } from "./admissions.ts";
import { type NodeSettings, useNodes } from "./node-process.ts";

const redis = useRedis();
const start = useNodes(afterAll);

const LIMIT = 1_000;
const HOUR_MS = 3_600_000;

function settings(windowMs: number, options: NodeSettings["options"]): NodeSettings {
  const store = { prefix: redis.newPrefix() };
  return {
    server: { redis: redis.server.url },
    limit: LIMIT,
    windowMs,
    options: { promoteAfter: 1, ...options },
    store,
  };
}

function calls(): Promise<number> {
  return callsOf("evalsha", redis.server);
}

it("no node asks an empty pool again before the refresh, not even one that never asked it", async () => {
  const windowMs = HOUR_MS;
  const [busy, other, idle] = await start(settings(windowMs, { base: 20, idleMs: 60_000 }), 3);
  await windowWithRoom(windowMs, 10_000);
  // It has a lease, and so hears the news.
  const tallies = [await idle.take({ times: 1 })];
  tallies.push(...(await Promise.all([busy, other].map((node) => node.hammer({ inFlight: 8, forMs: 1_000 })))));
  const before = await calls();
  tallies.push(...(await Promise.all([busy, other].map((node) => node.hammer({ inFlight: 8, forMs: 1_000 })))));
  const [lease] = await idle.leases();
  tallies.push(await idle.take({ times: (lease?.held ?? 0) + 100 }));
  expect(await calls()).toBe(before);
  expect(tallies[tallies.length - 1].denied).toBe(100);
  expect([...expectNoneOver(tallies, LIMIT).values()]).toEqual([LIMIT]);
});

it.concurrent("all nodes are notified when a pool got quota back, and ask again", async () => {
  const windowMs = HOUR_MS;
  // Long enough for the other node to be denied first, also on a busy machine.
  const [giving, waiting] = await start(settings(windowMs, { base: LIMIT / 2, idleMs: 10_000 }), 2);
  await windowWithRoom(windowMs, 10_000);
  const tallies = [await giving.take({ times: 10 })];
  const [lease] = await giving.leases();
  expect(lease?.held).toBeGreaterThan(100);
  tallies.push(await waiting.hammer({ inFlight: 16, forMs: 5_000, untilDenied: true }));
  // It was denied everything that the other held.
  expect([...expectNoneOver(tallies, LIMIT).values()]).toEqual([LIMIT - (lease?.held ?? 0)]);
  await eventually("the idle node has given back", async () => (await giving.stats())[0].returned > 0, 40_000);
  await sleep(100);
  tallies.push(await waiting.hammer({ inFlight: 16, forMs: 5_000, untilDenied: true }));
  expect([...expectNoneOver(tallies, LIMIT).values()]).toEqual([LIMIT]);
});

it.concurrent("a node with slow replies does not keep others from a pool that is full again", async () => {
  const windowMs = 3_000;
  const slowMs = 800;
  const proxy = await startCutProxy(redis.server.port);
  try {
    const shared = settings(windowMs, { base: 20, idleMs: 60_000 });
    const [[slow], [quick]] = await Promise.all([start({ ...shared, server: { redis: proxy.url } }), start(shared)]);
    const window = await windowWithRoom(windowMs, 2_800);
    // It leaves nothing to the other but what that holds, and is not refused itself.
    const tallies = [await slow.take({ times: 1 })];
    const [lease] = await slow.leases();
    const mine = lease?.held ?? 0;
    tallies.push(await quick.take({ times: LIMIT - 1 - mine }));
    proxy.delayMs = slowMs;
    // What it holds is spent at once; then it is denied, learns that late and notifies the others.
    tallies.push(await slow.take({ times: mine + 1 }));
    expect(tallies.map(({ denied }) => denied)).toEqual([0, 0, 1]);
    expect(Math.floor(Date.now() / windowMs)).toBe(window);
    const startAt = (window + 1) * windowMs * 1000;
    tallies.push(await quick.hammer({ inFlight: 4, forMs: slowMs, startAt }));
    expect(Math.min(...tallies[3].at) - startAt).toBeLessThan((slowMs / 2) * 1000);
    expectNoneOver(tallies, LIMIT);
  } finally {
    await proxy.stop();
  }
});
