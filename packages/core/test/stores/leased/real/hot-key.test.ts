import { describe, expect, it } from "vitest";
import { useRedis } from "../../redis/redis.ts";
import { expectNoneOver, shareAtFirstDenial, windowWithRoom } from "./admissions.ts";
import { type NodeProcess, useNodes } from "./node-process.ts";

const redis = useRedis();
const start = useNodes();

/** Of one window, which part of the total was consumed when somebody was first denied. */
async function share(
  limit: number,
  traffic: (nodes: readonly NodeProcess[]) => ReturnType<NodeProcess["pace"]>[],
): Promise<number> {
  const windowMs = 10_000;
  const nodes = await start(
    { server: { redis: redis.server.url }, limit, windowMs, nodes: 2, store: { prefix: redis.newPrefix() } },
    4,
  );
  const window = await windowWithRoom(windowMs, 5_000);
  const tallies = await Promise.all(traffic(nodes));
  expectNoneOver(tallies, limit);
  const trips = (await Promise.all(nodes.map((node) => node.stats()))).flat();
  console.log(
    limit,
    trips.reduce((sum, { roundTrips }) => sum + roundTrips, 0),
    trips.map((t) => t.held),
    trips.map((t) => t.granted),
  );
  return shareAtFirstDenial(tallies, limit, window);
}

describe("four processes that hammer one key", () => {
  it("are let in exactly as often as each window's total, all together", async () => {
    const [limit, windowMs] = [2_000, 1_000];
    const nodes = await start({ server: { redis: redis.server.url }, limit, windowMs }, 4);
    await windowWithRoom(windowMs, windowMs);
    const tallies = await Promise.all(nodes.map((node) => node.hammer({ inFlight: 64, forMs: 3_500 })));
    const admitted = expectNoneOver(tallies, limit);
    const whole = [...admitted.values()].slice(1, -1);
    expect(whole.length).toBeGreaterThanOrEqual(2);
    for (const units of whole) expect(units).toBe(limit);
    for (const { errors } of tallies) expect(errors).toEqual({});
    for (const window of [...admitted.keys()].slice(0, -1)) console.log(shareAtFirstDenial(tallies, limit, window));
  });
});

describe("when somebody is denied", () => {
  it.each([1_000, 10_000])("98 %% of %d was consumed, with traffic on all of 8 nodes", async (limit) => {
    const consumed = await share(limit, (nodes) =>
      nodes.map((node) => node.pace({ perMs: limit / 8_000, forMs: 4_000, untilDenied: true })),
    );
    console.log(consumed);
    expect(consumed).toBeGreaterThanOrEqual(0.98);
  });

  it.each([1_000, 10_000])("98 %% of %d was consumed, with 8 nodes that are hammered", async (limit) => {
    const consumed = await share(limit, (nodes) =>
      nodes.map((node) => node.hammer({ inFlight: 16, forMs: 4_000, untilDenied: true })),
    );
    console.log(consumed);
    expect(consumed).toBeGreaterThanOrEqual(0.98);
  });

  it.each([1_000, 10_000])("95 %% of %d was consumed, with all traffic on one of 8 nodes", async (limit) => {
    const consumed = await share(limit, ([one, ...others]) => {
      const before = [one, ...others].map((node) => node.pace({ perMs: limit / 16_000, forMs: 500 }));
      const after = Promise.all(before).then(() =>
        one.pace({ on: [0], perMs: limit / 1_000, forMs: 4_000, untilDenied: true }),
      );
      return [...before, after];
    });
    console.log(consumed);
    expect(consumed).toBeGreaterThanOrEqual(0.95);
  });
});
