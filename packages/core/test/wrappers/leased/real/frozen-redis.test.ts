import { startCutProxy } from "headgate-testkit/cut-proxy";
import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fixedWindow, leased } from "../../../../src/index.ts";
import { RedisStore } from "../../../../src/redis.ts";
import type { LeasedStats } from "../../../../src/wrappers/leased/leased-stats.ts";
import { ask, remaining, rule } from "../../../stores/conformance/context.ts";
import { expectAtLeast, expectNoneOver, inOneOfFiveTries, sleep, windowWithRoom } from "./admissions.ts";
import { type NodeProcess, useNodes } from "./node-process.ts";

const LIMIT = 2_000;

const start = useNodes();
let server: RedisServer;
beforeEach(async () => {
  server = await startRedis();
});
afterEach(async () => {
  await server.stop();
});

async function stats(nodes: readonly NodeProcess[]): Promise<readonly LeasedStats[]> {
  return (await Promise.all(nodes.map((node) => node.stats()))).flat();
}

async function spent(nodes: readonly NodeProcess[]): Promise<number> {
  return (await stats(nodes)).reduce((sum, { spent }) => sum + spent, 0);
}

it("while Redis is frozen, held quota is spent and then the fallback decides; afterwards all is counted as before", () =>
  inOneOfFiveTries(async () => {
    const windowMs = 3_000;
    const settings = { server: { redis: server.url }, limit: LIMIT, windowMs, store: { timeoutMs: 200 } };
    const options = { base: 200 };
    const nodes = (
      await Promise.all([
        start({ ...settings, options }, 2),
        start({ ...settings, options, fallBack: "deny" }),
        start({ ...settings, options, fallBack: "allow" }),
      ])
    ).flat();
    const window = await windowWithRoom(windowMs, windowMs - 200);
    const told = nodes.map((node) => node.pace({ perMs: 1, forMs: 2 * windowMs - (Date.now() % windowMs) - 300 }));
    await sleep(300);
    const before = await spent(nodes);
    server.pause();
    await eventually("all that was held is spent", async () => (await stats(nodes)).every(({ held }) => held === 0));
    // Requests find the store silent, and time out.
    await sleep(700);
    expectAtLeast(before + 100, await spent(nodes), "spent");
    server.resume();
    const tallies = await Promise.all(told);
    const admitted = expectNoneOver(tallies, LIMIT);
    // A busy machine lets calls time out also later.
    expectAtLeast(0.95 * LIMIT, admitted.get(window + 1), "admitted in the next window");
    const [one, other, deny, allow] = tallies;
    for (const { errors, degraded, degradedDenied } of [one, other]) {
      expectAtLeast(1, Object.keys(errors).length, "kinds of errors");
      for (const code of Object.keys(errors)) expect(["HG_STORE_TIMEOUT", "HG_STORE_UNREACHABLE"]).toContain(code);
      expect([degraded, degradedDenied]).toEqual([0, 0]);
    }
    expect([deny.errors, allow.errors]).toEqual([{}, {}]);
    expectAtLeast(100, deny.degradedDenied, "denied by the fallback");
    expectAtLeast(100, allow.degraded, "admitted by the fallback");
    expect([deny.degraded, allow.degradedDenied]).toEqual([0, 0]);
  }));

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
      // A request that had to do without its lease may be charged without an answer, so all have theirs again first.
      const before = await stats(nodes);
      await eventually("all nodes are granted quota again", async () =>
        (await stats(nodes)).every(({ granted }, node) => granted > before[node].granted),
      );
      await proxy.loseReply("evalsha");
    }
    // Idle nodes return what they hold: exactly once.
    const lost = Promise.all(nodes.map(() => proxy.loseReply("refund")));
    await Promise.all(nodes.map((node) => node.stopTraffic()));
    await lost;
    await sleep(1_000);
    const tallies = await Promise.all(told);
    const admitted = [...expectNoneOver(tallies, limit).values()].reduce((sum, units) => sum + units, 0);
    const pool = new RedisStore(server.url);
    const api = rule("api", fixedWindow({ limit, windowMs }));
    const used = async (): Promise<number> => limit - (await remaining(pool, api, "hot"));
    await eventually("the idle have given all back", async () => {
      expect(await used()).toBe(admitted);
      return true;
    });
    await pool.close();
  } finally {
    await proxy.stop();
  }
});

it("what cannot be given back at once is given back when there is a connection again", async () => {
  const api = rule("api", fixedWindow({ limit: LIMIT, windowMs: 3_600_000 }));
  const proxy = await startCutProxy(server.port);
  const pool = new RedisStore(server.url);
  try {
    await windowWithRoom(3_600_000, 10_000);
    const node = leased(new RedisStore(proxy.url), { promoteAfter: 1, base: 300 });
    await ask(node, "take", api, "hot");
    expect(await remaining(pool, api, "hot")).toBe(LIMIT - 301);
    await proxy.refuse();
    const closed = node.close();
    await proxy.accept();
    await closed;
    expect(await remaining(pool, api, "hot")).toBe(LIMIT - 1);
  } finally {
    await pool.close();
    await proxy.stop();
  }
});
