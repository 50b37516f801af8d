import { expect, it } from "vitest";
import { startCutProxy } from "../../../servers/cut-proxy.ts";
import { useRedis } from "../../redis/redis.ts";
import { admittedInWholeWindows, expectNoneOver, sleep, windowWithRoom } from "./admissions.ts";
import { type NodeSettings, useNodes } from "./node-process.ts";

const redis = useRedis();
const start = useNodes();

/** Nodes that take half of a window at a time. */
function greedy(): NodeSettings {
  const store = { prefix: redis.newPrefix() };
  return {
    server: { redis: redis.server.url },
    limit: LIMIT,
    windowMs: WINDOW_MS,
    options: { base: LIMIT / 2 },
    store,
  };
}

const LIMIT = 1_000;
const WINDOW_MS = 2_000;

it("a node that was frozen past the end of its lease spends nothing of it", async () => {
  const [frozen, other] = await start(greedy(), 2);
  await windowWithRoom(WINDOW_MS, 1_500);
  const told = [frozen.pace({ perMs: 0.1, forMs: 60_000 })];
  await sleep(400);
  const [lease] = await frozen.leases();
  expect(lease?.held).toBeGreaterThan(LIMIT / 10);
  frozen.freeze();
  told.push(other.hammer({ inFlight: 8, forMs: 60_000 }));
  // To the middle of the next window: by then the other has spent all of it.
  await sleep(1.5 * WINDOW_MS - (Date.now() % WINDOW_MS));
  frozen.thaw();
  await sleep(1.5 * WINDOW_MS);
  await Promise.all([frozen, other].map((node) => node.stopTraffic()));
  const tallies = await Promise.all(told);
  const whole = admittedInWholeWindows(tallies, LIMIT);
  expect(whole.length).toBeGreaterThan(0);
  for (const units of whole) expect(units).toBe(LIMIT);
  const [stats] = await frozen.stats();
  expect(stats.burnt).toBeGreaterThanOrEqual((lease?.held ?? 0) - 1);
});

it("a node that hears late what it was granted spends nothing of it after the window", async () => {
  const proxy = await startCutProxy(redis.server.port);
  try {
    const shared = greedy();
    const slow = { ...shared, server: { redis: proxy.url }, options: { base: LIMIT / 5, promoteAfter: 1 } };
    const [[late], [other]] = await Promise.all([start(slow), start(shared)]);
    proxy.delayMs = 400;
    const window = await windowWithRoom(WINDOW_MS, WINDOW_MS);
    const told = [late.pace({ perMs: 0.1, forMs: 1.5 * WINDOW_MS })];
    await sleep(1_000);
    const [lease] = await late.leases();
    expect(lease?.held).toBeGreaterThan(LIMIT / 10);
    // From then on nothing is left for it, and in the next window neither.
    told.push(other.hammer({ inFlight: 8, forMs: 1.5 * WINDOW_MS }));
    const admitted = expectNoneOver(await Promise.all(told), LIMIT);
    expect(admitted.get(window + 1)).toBe(LIMIT);
  } finally {
    await proxy.stop();
  }
});

it("what a node held that was killed is back with the next window, and the others go on", async () => {
  const [dead, ...others] = await start(greedy(), 3);
  const window = await windowWithRoom(WINDOW_MS, 1_500);
  const taken = await dead.take({ times: 20 });
  const [lease] = await dead.leases();
  expect(lease?.held).toBeGreaterThan(LIMIT / 10);
  dead.kill();
  const told = others.map((node) => node.hammer({ inFlight: 8, forMs: 2.2 * WINDOW_MS }));
  const tallies = [taken, ...(await Promise.all(told))];
  for (const { errors } of tallies) expect(errors).toEqual({});
  const admitted = expectNoneOver(tallies, LIMIT);
  expect(admitted.get(window)).toBe(LIMIT - (lease?.held ?? 0));
  expect(admitted.get(window + 1)).toBe(LIMIT);
});
