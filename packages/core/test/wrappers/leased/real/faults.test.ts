import { startCutProxy } from "headgate-testkit/cut-proxy";
import { afterAll, expect, it } from "vitest";
import { useRedis } from "../../../stores/redis/redis.ts";
import { admittedSince, expectNoneOver, sleep, windowWithRoom } from "./admissions.ts";
import { type NodeSettings, useNodes } from "./node-process.ts";

const redis = useRedis();
const start = useNodes(afterAll);

/** Nodes that take half of a window at a time. */
function greedy(): NodeSettings {
  const store = { prefix: redis.newPrefix() };
  return {
    server: { redis: redis.server.url },
    limit: LIMIT,
    windowMs: WINDOW_MS,
    // On a busy machine a test may stall for longer than a node is idle by default, and would find its lease returned.
    options: { base: LIMIT / 2, idleMs: 60_000 },
    store,
  };
}

const LIMIT = 1_000;
const WINDOW_MS = 2_000;

it.concurrent("a node that was frozen past the end of its lease spends nothing of it", async () => {
  const [frozen, other] = await start(greedy(), 2);
  const window = await windowWithRoom(WINDOW_MS, 1_500);
  const told = [frozen.pace({ perMs: 0.1, forMs: 60_000 })];
  await sleep(400);
  const readAt = Date.now();
  const [lease] = await frozen.leases();
  expect(lease?.held).toBeGreaterThan(LIMIT / 10);
  frozen.process.pause();
  told.push(other.hammer({ inFlight: 8, forMs: 60_000 }));
  // To the middle of the next window: by then the other has spent all of it.
  await sleep(1.5 * WINDOW_MS - (Date.now() % WINDOW_MS));
  frozen.process.resume();
  await sleep(1.5 * WINDOW_MS);
  await Promise.all([frozen, other].map((node) => node.stopTraffic()));
  const tallies = await Promise.all(told);
  const admitted = expectNoneOver(tallies, LIMIT);
  expect(admitted.get(window + 1)).toBe(LIMIT);
  const [stats] = await frozen.stats();
  // What it spent before it was frozen; the last one may not have been counted any more.
  const spent = admittedSince(tallies[0], window, readAt) + 1;
  expect(stats.burnt).toBeGreaterThanOrEqual((lease?.held ?? 0) - spent);
});

it.concurrent("a node that hears late what it was granted spends nothing of it after the window", async () => {
  const proxy = await startCutProxy(redis.server.port);
  try {
    const shared = greedy();
    const slow = { ...shared, server: { redis: proxy.url }, options: { base: LIMIT / 5, promoteAfter: 1 } };
    const [[late], [other]] = await Promise.all([start(slow), start(shared)]);
    proxy.delayMs = 400;
    const window = await windowWithRoom(WINDOW_MS, WINDOW_MS);
    const told = [late.pace({ perMs: 0.05, forMs: 1.5 * WINDOW_MS })];
    await sleep(1_000);
    const [lease] = await late.leases();
    expect(lease?.held).toBeGreaterThan(LIMIT / 10);
    // From then on nothing is left for it.
    told.push(other.hammer({ inFlight: 8, forMs: 1.5 * WINDOW_MS }));
    const admitted = expectNoneOver(await Promise.all(told), LIMIT);
    // Of the next window it may hold a batch.
    expect(admitted.get(window + 1)).toBeGreaterThanOrEqual(LIMIT - LIMIT / 5);
  } finally {
    await proxy.stop();
  }
});

it.concurrent("the quota of a killed node is available again in the next window, and the other nodes continue", async () => {
  const [dead, ...others] = await start(greedy(), 3);
  const window = await windowWithRoom(WINDOW_MS, 1_500);
  const taken = await dead.take({ times: 20 });
  const [lease] = await dead.leases();
  expect(lease?.held).toBeGreaterThan(LIMIT / 10);
  dead.process.kill();
  const told = others.map((node) => node.hammer({ inFlight: 8, forMs: 2.2 * WINDOW_MS }));
  const tallies = [taken, ...(await Promise.all(told))];
  for (const { errors } of tallies) expect(errors).toEqual({});
  const admitted = expectNoneOver(tallies, LIMIT);
  expect(admitted.get(window)).toBe(LIMIT - (lease?.held ?? 0));
  expect(admitted.get(window + 1)).toBe(LIMIT);
});

it.concurrent("a pool that is deleted by hand starts from zero, held quota stays valid, and the next window is complete", async () => {
  const prefix = redis.newPrefix();
  const nodes = await start(
    {
      server: { redis: redis.server.url },
      limit: LIMIT,
      windowMs: WINDOW_MS,
      options: { base: 100 },
      store: { prefix },
    },
    2,
  );
  const window = await windowWithRoom(WINDOW_MS, 1_900);
  const before = await Promise.all(nodes.map((node) => node.take({ times: 150 })));
  const held = (await Promise.all(nodes.map((node) => node.leases()))).flat().map((lease) => lease?.held ?? 0);
  expect(Math.min(...held)).toBeGreaterThan(0);
  expect(await redis.server.ask("DEL", `${prefix}:{hot}:api:fixed_window`)).toBe("1");
  const after = await Promise.all(nodes.map((node) => node.hammer({ inFlight: 8, forMs: 1_000 })));
  for (const { errors } of after) expect(errors).toEqual({});
  // The pool has forgotten what was granted before, and all of it has been spent.
  const admitted = expectNoneOver([...before, ...after], LIMIT + 300 + held[0] + held[1]);
  expect(admitted.get(window)).toBe(LIMIT + 300 + held[0] + held[1]);
  await sleep(WINDOW_MS - (Date.now() % WINDOW_MS) + 20);
  const next = await Promise.all(nodes.map((node) => node.hammer({ inFlight: 8, forMs: 1_000 })));
  expect([...expectNoneOver(next, LIMIT).values()]).toEqual([LIMIT]);
});
