import { describe, expect, it } from "vitest";
import { useRedis } from "../../../stores/redis/redis.ts";
import {
  admittedInWholeWindows,
  expectAtLeast,
  expectNoneOver,
  inOneOfFiveTries,
  nextStart,
  shareAtFirstDenial,
  type Tally,
  windowWithRoom,
} from "./admissions.ts";
import { type NodeProcess, type NodeSettings, useNodes } from "./node-process.ts";

const redis = useRedis();
const start = useNodes();

/** Traffic at a rate asks each millisecond or so. */
const STALL_MS = 20;
const MOST_TRIES = 5;

function settings(limit: number, windowMs: number): NodeSettings {
  return { server: { redis: redis.server.url }, limit, windowMs, store: { prefix: redis.newPrefix() } };
}

describe("processes that hammer one key", () => {
  it("admit exactly each window's total, all together, with clocks that are minutes apart", () =>
    inOneOfFiveTries(async () => {
      const [limit, windowMs] = [2_000, 1_000];
      const shared = settings(limit, windowMs);
      const started = await Promise.all([-60_000, 0, 0, 60_000].map((aheadMs) => start({ ...shared, aheadMs })));
      const traffic = { inFlight: 64, forMs: 3.5 * windowMs, startAt: nextStart(windowMs) };
      const tallies = await Promise.all(started.flat().map((node) => node.hammer(traffic)));
      for (const { errors, at } of tallies) {
        expect(errors).toEqual({});
        expectAtLeast(1, at.length, "admitted by a node");
      }
      const whole = admittedInWholeWindows(tallies, limit);
      expectAtLeast(2, whole.length, "whole windows");
      expectAtLeast(limit, Math.min(...whole), "admitted in a window");
    }));

  it("see the pool refreshed once if two of them ask at the same instant", () =>
    inOneOfFiveTries(async () => {
      const [limit, windowMs] = [100, 1_000];
      const nodes = await start({ ...settings(limit, windowMs), options: { base: 10 } }, 2);
      const traffic = { inFlight: 4, forMs: 4.5 * windowMs, startAt: nextStart(windowMs) };
      const tallies = await Promise.all(nodes.map((node) => node.hammer(traffic)));
      const whole = admittedInWholeWindows(tallies, limit);
      expectAtLeast(2, whole.length, "whole windows");
      expectAtLeast(limit, Math.min(...whole), "admitted in a window");
    }));
});

it("fifty nodes that start at once on one key admit exactly its total", async () => {
  const [limit, windowMs] = [1_000, 3_600_000];
  const nodes = await start({ ...settings(limit, windowMs), nodes: 10, options: { promoteAfter: 1 } }, 5);
  await windowWithRoom(windowMs, 60_000);
  const tallies: Tally[] = [];
  const admitted = (): number => tallies.reduce((sum, { at }) => sum + at.length, 0);
  // On a busy machine, two seconds are too short for all of it.
  for (let round = 0; admitted() < limit && round < MOST_TRIES; round += 1) {
    const startAt = (Date.now() + 200) * 1000;
    tallies.push(...(await Promise.all(nodes.map((node) => node.hammer({ inFlight: 2, forMs: 2_000, startAt })))));
  }
  for (const { errors } of tallies) expect(errors).toEqual({});
  expect([...expectNoneOver(tallies, limit).values()]).toEqual([limit]);
});

describe("at the first denial", () => {
  type Traffics = (nodes: readonly NodeProcess[]) => Promise<Tally>[];

  /** Of one window, which part of the total was consumed by then, and for how long a node was kept from asking. */
  async function consumed(limit: number, traffic: Traffics): Promise<{ share: number; stalledMs: number }> {
    const windowMs = 3_600_000;
    const nodes = await start({ ...settings(limit, windowMs), nodes: 4 }, 2);
    const window = await windowWithRoom(windowMs, 20_000);
    const tallies = await Promise.all(traffic(nodes));
    expectNoneOver(tallies, limit);
    return {
      share: shareAtFirstDenial(tallies, limit, window),
      stalledMs: Math.max(...tallies.map(({ stalledMs }) => stalledMs)),
    };
  }

  /** A process that the machine stops holds some while the other is denied: such a try is made again, and no other is. */
  async function expectConsumed(least: number, limit: number, traffic: Traffics): Promise<void> {
    const shares: number[] = [];
    for (let isDisturbed = true; isDisturbed && shares.length < MOST_TRIES; ) {
      const { share, stalledMs } = await consumed(limit, traffic);
      shares.push(share);
      isDisturbed = share < least && stalledMs > STALL_MS;
    }
    expect(shares.at(-1), `shares of all tries: ${shares}`).toBeGreaterThanOrEqual(least);
  }

  it.each([1_000, 10_000])("98 % of %i are consumed with traffic on all of 8 nodes", async (limit) => {
    await expectConsumed(0.98, limit, (nodes) =>
      nodes.map((node) => node.pace({ perMs: limit / 8_000, forMs: 10_000, untilDenied: true })),
    );
  });

  it.each([1_000, 10_000])("95 % of %i are consumed when all traffic goes to one of 8 nodes", async (limit) => {
    await expectConsumed(0.95, limit, (nodes) => {
      const shared = nodes.map((node) => node.pace({ perMs: limit / 16_000, forMs: 500 }));
      const alone = Promise.all(shared).then(() =>
        nodes[0].pace({ on: [0], perMs: limit / 1_000, forMs: 10_000, untilDenied: true }),
      );
      return [...shared, alone];
    });
  });
});
