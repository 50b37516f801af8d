import { startEnsemble, type ZooKeeperEnsemble } from "headgate-testkit/zookeeper-ensemble";
import { Peer } from "headgate-testkit/zookeeper-peer";
import type { ZooKeeperServer } from "headgate-testkit/zookeeper-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  admittedInWholeWindows,
  admittedSince,
  expectAtLeast,
  expectNoneOver,
  inOneOfFiveTries,
  nextStart,
  sleep,
  windowWithRoom,
} from "./admissions.ts";
import { type NodeProcess, type NodeSettings, useNodes } from "./node-process.ts";

const LIMIT = 1_000;
const WINDOW_MS = 2_000;

const start = useNodes();
/** For tests that run at the same time. */
const startBeside = useNodes(afterAll);
let ensemble: ZooKeeperEnsemble;
let roots = 0;

beforeAll(async () => {
  ensemble = await startEnsemble();
});
afterAll(() => ensemble?.stop());

function settings(options: NodeSettings["options"] = {}, timeoutMs = 1_500): NodeSettings {
  roots += 1;
  return {
    server: { zookeeper: ensemble.addresses },
    limit: LIMIT,
    windowMs: WINDOW_MS,
    options,
    // ZooKeeper reports its time in milliseconds, and with its replies.
    slackMs: 150,
    store: { root: `/test${roots}`, timeoutMs, sessionTimeoutMs: 1_000, purgeEveryMs: 0 },
  };
}

/** From now to the middle of the window after this many more. */
function toMiddle(windows: number): Promise<void> {
  return sleep((windows + 0.5) * WINDOW_MS - (Date.now() % WINDOW_MS));
}

describe("nodes under traffic", () => {
  /** A fault in the middle of a window, repaired in the middle of the next. Traffic continues for a few windows. */
  async function survive(
    nodes: readonly NodeProcess[],
    fault: () => void | Promise<void>,
    mend: () => void | Promise<void>,
  ): Promise<void> {
    const window = await windowWithRoom(WINDOW_MS, 1_500);
    const told = nodes.map((node) => node.pace({ perMs: 1, forMs: 60_000 }));
    await toMiddle(0);
    await fault();
    await toMiddle(1);
    await mend();
    await ensemble.settled();
    await toMiddle(4);
    await Promise.all(nodes.map((node) => node.stopTraffic()));
    const tallies = await Promise.all(told);
    const admitted = expectNoneOver(tallies, LIMIT);
    const last = Math.max(...admitted.keys());
    expect(last).toBeGreaterThan(window + 4);
    // On a busy machine, calls time out later, too: one of the whole windows since has nearly all of the quota.
    const since = [...admitted].filter(([start]) => start > window + 1 && start < last).map(([, count]) => count);
    expectAtLeast(0.95 * LIMIT, Math.max(...since), "admitted in the best window since");
    for (const { errors } of tallies) {
      for (const code of Object.keys(errors)) expect(["HG_STORE_TIMEOUT", "HG_STORE_UNREACHABLE"]).toContain(code);
    }
  }

  /** The server that the only node there is is connected to. */
  async function serverOfNode(): Promise<ZooKeeperServer> {
    for (const server of ensemble.servers) if ((await server.connections()) > 0) return server;
    throw new Error("no server has a client");
  }

  it("count on when the server of one of them is frozen", () =>
    inOneOfFiveTries(async () => {
      const shared = settings({}, 500);
      const [first] = await start(shared);
      const own = await serverOfNode();
      const others = await start(shared, 2);
      await survive(
        [first, ...others],
        () => own.pause(),
        () => own.resume(),
      );
    }));

  it("count on when the leader is frozen", () =>
    inOneOfFiveTries(async () => {
      const leader = await ensemble.leader();
      await survive(
        await start(settings({}, 500), 3),
        () => leader.pause(),
        () => leader.resume(),
      );
    }));

  it("count on when the leader is killed", () =>
    inOneOfFiveTries(async () => {
      const leader = await ensemble.leader();
      await survive(
        await start(settings({}, 500), 3),
        () => leader.kill(),
        () => leader.start(),
      );
    }));
});

describe("nodes that share an ensemble", () => {
  it("admit exactly each window's total, with clocks that are minutes apart", () =>
    inOneOfFiveTries(async () => {
      const shared = settings();
      const started = await Promise.all([-60_000, 0, 60_000].map((aheadMs) => start({ ...shared, aheadMs })));
      const traffic = { inFlight: 8, forMs: 3.5 * WINDOW_MS, startAt: nextStart(WINDOW_MS) };
      const tallies = await Promise.all(started.flat().map((node) => node.hammer(traffic)));
      const whole = admittedInWholeWindows(tallies, LIMIT);
      expectAtLeast(1, whole.length, "whole windows");
      for (const units of whole) expectAtLeast(LIMIT, units, "admitted in a window");
      for (const { at } of tallies) expectAtLeast(1, at.length, "admitted by a node");
    }));

  it("admit exactly the total when fifty start at once", async () => {
    const nodes = await start(
      { ...settings({ promoteAfter: 1 }, 10_000), limit: 300, nodes: 10, windowMs: 3_600_000 },
      5,
    );
    await windowWithRoom(3_600_000, 30_000);
    const tallies: Awaited<ReturnType<(typeof nodes)[number]["hammer"]>>[] = [];
    // On a busy machine, fifty processes may need longer to use up the limit.
    for (let round = 0; round < 5 && tallies.reduce((sum, { at }) => sum + at.length, 0) < 300; round += 1) {
      tallies.push(...(await Promise.all(nodes.map((node) => node.hammer({ inFlight: 2, forMs: 6_000 })))));
    }
    expect([...expectNoneOver(tallies, 300).values()]).toEqual([300]);
  });
});

describe.concurrent("nodes that share an ensemble, and each other's faults", () => {
  it("spend nothing that they held when they were frozen past the end of it, and of their session", () =>
    inOneOfFiveTries(async () => {
      const [frozen, other] = await startBeside(settings({ base: LIMIT / 2 }), 2);
      const window = await windowWithRoom(WINDOW_MS, 1_500);
      const told = [frozen.pace({ perMs: 0.1, forMs: 60_000 })];
      await sleep(500);
      const readAt = Date.now();
      const [lease] = await frozen.leases();
      expectAtLeast(LIMIT / 10, lease?.held, "held");
      frozen.process.pause();
      told.push(other.hammer({ inFlight: 8, forMs: 60_000 }));
      await toMiddle(1);
      frozen.process.resume();
      await toMiddle(1);
      await Promise.all([frozen, other].map((node) => node.stopTraffic()));
      const tallies = await Promise.all(told);
      const admitted = expectNoneOver(tallies, LIMIT);
      expectAtLeast(LIMIT, admitted.get(window + 1), "admitted in the next window");
      const [stats] = await frozen.stats();
      // What it spent before it was frozen; the last one may not have been counted any more.
      const spent = admittedSince(tallies[0], window, readAt) + 1;
      expect(stats.burnt).toBeGreaterThanOrEqual((lease?.held ?? 0) - spent);
    }));

  it("have what one held that was killed with the next window", () =>
    inOneOfFiveTries(async () => {
      const [dead, ...others] = await startBeside(settings({ base: LIMIT / 2 }), 3);
      const window = await windowWithRoom(WINDOW_MS, 1_800);
      const taken = await dead.take({ times: 20 });
      const [lease] = await dead.leases();
      expectAtLeast(LIMIT / 10, lease?.held, "held");
      dead.process.kill();
      const told = others.map((node) => node.hammer({ inFlight: 8, forMs: 1.9 * WINDOW_MS }));
      const admitted = expectNoneOver([taken, ...(await Promise.all(told))], LIMIT);
      const left = LIMIT - (lease?.held ?? 0);
      expect(admitted.get(window)).toBeLessThanOrEqual(left);
      expectAtLeast(left, admitted.get(window), "admitted in the window of the kill");
      expectAtLeast(LIMIT, admitted.get(window + 1), "admitted in the next window");
    }));

  it("continue with a new pool when it is deleted by hand, and with what they hold", () =>
    inOneOfFiveTries(async () => {
      const shared = settings({ base: 100 });
      const root = `/test${roots}`;
      const nodes = await startBeside(shared, 2);
      const window = await windowWithRoom(WINDOW_MS, 1_800);
      const before = await Promise.all(nodes.map((node) => node.take({ times: 150 })));
      const held = (await Promise.all(nodes.map((node) => node.leases()))).flat().map((lease) => lease?.held ?? 0);
      await new Peer(ensemble.servers[0].address).removeAll(`${root}/limits/api/fixed_window/hot`);
      const after = await Promise.all(nodes.map((node) => node.hammer({ inFlight: 8, forMs: 1.9 * WINDOW_MS })));
      for (const { errors } of after) expect(errors).toEqual({});
      const total = LIMIT + 300 + held[0] + held[1];
      const admitted = expectNoneOver([...before, ...after], total);
      expectAtLeast(total, admitted.get(window), "admitted in the window of the deletion");
      expectAtLeast(LIMIT, admitted.get(window + 1), "admitted in the next window");
    }));
});
