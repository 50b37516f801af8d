import { afterEach, beforeEach, expect, it } from "vitest";
import { fixedWindow, type Policy } from "../../../../src/index.ts";
import { RedisStore } from "../../../../src/redis.ts";
import { startCutProxy } from "../../../servers/cut-proxy.ts";
import { eventually } from "../../../servers/eventually.ts";
import { type RedisServer, startRedis } from "../../../servers/redis-server.ts";
import { remaining, rule } from "../../conformance/context.ts";
import { expectNoneOver, sleep, type Tally, windowWithRoom } from "./admissions.ts";
import { type NodeProcess, useNodes } from "./node-process.ts";

const LIMIT = 4_000;
const WINDOW_MS = 5_000;

const start = useNodes();
let server: RedisServer;
beforeEach(async () => {
  server = await startRedis();
});
afterEach(async () => {
  await server.stop();
});

/** Three nodes under traffic, in a window in whose middle Redis stands still for longer than any call may take. */
async function frozen(fallBack?: Policy): Promise<{ nodes: NodeProcess[]; tallies: Tally[]; window: number }> {
  const nodes = await start(
    {
      server: { redis: server.url },
      limit: LIMIT,
      windowMs: WINDOW_MS,
      options: { base: 300 },
      store: { timeoutMs: 200 },
      ...(fallBack && { fallBack }),
    },
    3,
  );
  const window = await windowWithRoom(WINDOW_MS, WINDOW_MS);
  const told = nodes.map((node) => node.pace({ perMs: 1, forMs: 2 * WINDOW_MS - (Date.now() % WINDOW_MS) - 500 }));
  await sleep(300);
  const before = await spent(nodes);
  server.pause();
  await sleep(1_000);
  // What was held is spent.
  expect(await spent(nodes)).toBeGreaterThan(before + 100);
  server.resume();
  return { nodes, tallies: await Promise.all(told), window };
}

async function spent(nodes: readonly NodeProcess[]): Promise<number> {
  const stats = (await Promise.all(nodes.map((node) => node.stats()))).flat();
  return stats.reduce((sum, { spent }) => sum + spent, 0);
}

it("while Redis is frozen what is held is spent, then calls fail; and afterwards all is counted as before", async () => {
  const { tallies, window } = await frozen();
  const admitted = expectNoneOver(tallies, LIMIT);
  for (const { errors } of tallies) {
    expect(Object.keys(errors).length).toBeGreaterThan(0);
    for (const code of Object.keys(errors)) expect(["HG_STORE_TIMEOUT", "HG_STORE_UNREACHABLE"]).toContain(code);
  }
  expect(admitted.get(window + 1)).toBe(LIMIT);
});

it.each(["deny", "allow"] as const)(
  "under resilient() a frozen Redis is stood in for as the rule says: %s",
  async (policy) => {
    const { tallies, window } = await frozen(policy);
    const admitted = expectNoneOver(tallies, LIMIT);
    for (const { errors, degraded, degradedDenied } of tallies) {
      expect(errors).toEqual({});
      expect(policy === "deny" ? degradedDenied : degraded).toBeGreaterThan(100);
      expect(policy === "deny" ? degraded : degradedDenied).toBe(0);
    }
    expect(admitted.get(window + 1)).toBe(LIMIT);
  },
);

it("replies that are lost strand nothing and mint nothing", async () => {
  const limit = 100_000;
  const windowMs = 3_600_000;
  const proxy = await startCutProxy(server.port);
  try {
    await windowWithRoom(windowMs, 30_000);
    const nodes = await start(
      {
        server: { redis: proxy.url },
        limit,
        windowMs,
        options: { base: 20, idleMs: 200, giveBackEveryMs: 100 },
        store: { timeoutMs: 500 },
      },
      2,
    );
    const told = nodes.map((node) => node.pace({ perMs: 1, forMs: 60_000 }));
    for (let i = 0; i < 10; i += 1) {
      await sleep(250);
      await proxy.loseReply("evalsha");
    }
    // The idle give back what they hold: that is not to be done twice, nor left.
    const lost = Promise.all(nodes.map(() => proxy.loseReply("refund")));
    await Promise.all(nodes.map((node) => node.stopTraffic()));
    await lost;
    await sleep(1_000);
    const tallies = await Promise.all(told);
    const admitted = [...expectNoneOver(tallies, limit).values()].reduce((sum, units) => sum + units, 0);
    const pool = new RedisStore(server.url);
    const api = rule("api", fixedWindow({ limit, windowMs }));
    const used = async (): Promise<number> => limit - (await remaining(pool, api, "hot"));
    await eventually("the idle have given all back", async () => (await used()) <= admitted, 10_000);
    expect(await used()).toBe(admitted);
    await pool.close();
  } finally {
    await proxy.stop();
  }
});
