import { fixedWindow, type Limit, tokenBucket } from "headgate";
import { describe, expect, it } from "vitest";
import { trafficSource } from "../traffic/traffic-model.ts";
import type { ClusterConsistency, ClusterModel, ClusterReport } from "./cluster-model.ts";
import { simulateCluster } from "./simulate-cluster.ts";

const healthy: ClusterModel = {
  nodes: 8,
  consistency: "strict",
  shards: 2,
  leastDelayMs: 0.2,
  mostDelayMs: 0.4,
  slowDelayMs: 5,
  loss: 0,
  callUs: 20,
  timeoutMs: 250,
  pauses: [],
  starts: [],
  ends: [],
  failovers: [],
};

function run(
  cluster: Partial<ClusterModel>,
  { seed = 1, limit = fixedWindow("300/s") as Limit, seconds = 1 } = {},
): Promise<ClusterReport> {
  // Three keys of ten go over their limit.
  const source = trafficSource({ name: "k", rate: 3_000, keys: 10, zipf: 1 });
  const traffic = { seed, start: 1_767_225_600_000_000, durationMs: seconds * 1_000, sources: [source] };
  return simulateCluster({ traffic, rule: { name: "api", limit }, cluster: { ...healthy, ...cluster } });
}

const consistencies: readonly ClusterConsistency[] = ["strict", "cached", "leased", "split"];

describe("a simulated cluster", () => {
  it("answers every check, and repeats with its seed", async () => {
    expect(await run({}, { seed: 2 })).not.toEqual(await run({}));
    for (const consistency of consistencies) {
      const report = await run({ consistency });
      expect(report.admitted + report.denied).toBe(report.checks);
      expect(report.denied).toBeGreaterThan(500);
      expect(await run({ consistency })).toEqual(report);
    }
  });

  it("asks the store for every check in strict mode, less often otherwise, and only heartbeats if the limit is split", async () => {
    const trips = new Map<ClusterConsistency, number>();
    for (const consistency of consistencies) {
      const { roundTripsPerThousand, p99Wait } = await run({ consistency });
      trips.set(consistency, roundTripsPerThousand);
      if (consistency === "split") expect(p99Wait).toBe(0);
    }
    expect(trips.get("strict")).toBe(1_000);
    expect(trips.get("cached")).toBeLessThan(1_000);
    expect(trips.get("leased")).toBeLessThan(1_000);
    // 8 nodes with a heartbeat every 150 ms, and 3,000 checks per second.
    const expected = (8 * 1_000) / 150 / 3;
    expect(trips.get("split")).toBeGreaterThan(0.85 * expected);
    expect(trips.get("split")).toBeLessThan(1.15 * expected);
  });

  it.each(["strict", "leased", "split"] as const)(
    "admits at most the limit, whatever is lost: %s",
    async (consistency) => {
      const faults = { loss: 0.02, pauses: [{ node: 1, atMs: 200, forMs: 300 }] };
      const failovers = [{ shard: 0, atMs: 500, forMs: 300, losesData: false }];
      for (const limit of [fixedWindow("300/s"), tokenBucket("200/s", { burst: 50 })]) {
        const report = await run({ consistency, ...faults, failovers }, { limit });
        expect(report.mostOfLimit).toBeLessThanOrEqual(1);
        expect(report.averageOfLimit).toBeGreaterThan(0.5);
        if (consistency === "strict") expect(report.failed).toBeGreaterThan(0);
      }
    },
  );

  it("admits more than the limit if a failover loses what was counted", async () => {
    // In the middle of a window, and quick enough for the rest of it.
    const failovers = [0, 1].map((shard) => ({ shard, atMs: 500, forMs: 50, losesData: true }));
    expect((await run({ failovers })).mostOfLimit).toBeGreaterThan(1.05);
  });

  describe("with a split limit", () => {
    const split = { consistency: "split", shards: 1 } as const;

    it("keeps the shares while no heartbeat is answered for less than a lease", async () => {
      const failovers = [{ shard: 0, atMs: 300, forMs: 250, losesData: false }];
      const { failed, mostOfLimit } = await run({ ...split, failovers });
      expect(failed).toBe(0);
      expect(mostOfLimit).toBeLessThanOrEqual(1);
    });

    it("fails checks from the end of the leases until the first heartbeat that is answered", async () => {
      const failovers = [{ shard: 0, atMs: 100, forMs: 850, losesData: false }];
      const report = await run({ ...split, failovers });
      // Leases end between 0.55 and 0.7 s, and the server is back at 0.95 s.
      expect(report.failed / report.checks).toBeGreaterThan(0.25);
      expect(report.failed / report.checks).toBeLessThan(0.42);
      expect(report.mostOfLimit).toBeLessThanOrEqual(1);
    });

    it("takes more than a lease longer if the server comes back without the record", async () => {
      const failovers = [{ shard: 0, atMs: 100, forMs: 850, losesData: true }];
      const keeping = failovers.map((failover) => ({ ...failover, losesData: false }));
      const lossy = await run({ ...split, failovers }, { seconds: 2 });
      const frozen = await run({ ...split, failovers: keeping }, { seconds: 2 });
      const longer = (lossy.failed - frozen.failed) / (lossy.checks / 2);
      expect(longer).toBeGreaterThan(0.6);
      expect(longer).toBeLessThan(0.8);
    });

    it("gives the share of a frozen node to the others, and admits at most that much more", async () => {
      const pauses = [{ node: 1, atMs: 0, forMs: 1_500 }];
      const limit = fixedWindow("300/10s");
      const { mostOfLimit } = await run({ ...split, pauses }, { limit, seconds: 2 });
      expect(mostOfLimit).toBeGreaterThan(1);
      // Its own share is 1/8, and it gets that back; see docs/stores/split.md.
      expect(mostOfLimit).toBeLessThanOrEqual(1 + 1 / 8);
    });

    it("does not work with heartbeats that the server cannot keep up with", async () => {
      const { shards, failed, checks } = await run({ ...split, nodes: 400 });
      expect(shards[0].busyShare).toBeGreaterThan(1);
      expect(failed / checks).toBeGreaterThan(0.5);
    });
  });

  describe("with nodes that start and end", () => {
    const four = { nodes: 4, shards: 1 } as const;
    const both = [false, true].map((isKilled) => [0, 1].map((node) => ({ node, atMs: 1_000, isKilled })));

    it.each(["strict", "leased", "split"] as const)(
      "admits at most the limit when nodes end: %s",
      async (consistency) => {
        const limit = tokenBucket("200/s", { burst: 20 });
        for (const ends of both) {
          const report = await run({ ...four, consistency, ends }, { limit, seconds: 3 });
          expect(report.admitted + report.denied + report.failed).toBe(report.checks);
          expect(report.mostOfLimit).toBeLessThanOrEqual(1);
          expect(report.averageOfLimit).toBeGreaterThan(0.7);
        }
      },
    );

    it("gives the share of a node that ends to the others: at once if it stops, after a lease if it was killed", async () => {
      const [stopped, killed] = await Promise.all(
        both.map((ends) => run({ ...four, consistency: "split", ends }, { seconds: 4 })),
      );
      expect([stopped.failed, killed.failed]).toEqual([0, 0]);
      expect(stopped.admitted).toBeGreaterThan(killed.admitted);
      // With half of the limit for three of four seconds, it would be 0.6.
      expect(killed.averageOfLimit).toBeGreaterThan(0.95);
    });

    it.each([
      { change: "a start", starts: [{ atMs: 1_000 }], ends: [], most: 1 + 1 / 3 },
      { change: "a stop", starts: [], ends: [{ node: 0, atMs: 1_000, isKilled: false }], most: 1 + 1 / 2 },
      { change: "a kill", starts: [], ends: [{ node: 0, atMs: 1_000, isKilled: true }], most: 1 + 1 / 2 },
    ])("admits as much more in the window of $change as docs/stores/split.md says", async ({ starts, ends, most }) => {
      const limit = fixedWindow("300/10s");
      const { mostOfLimit } = await run(
        { nodes: 2, shards: 1, consistency: "split", starts, ends },
        { limit, seconds: 4 },
      );
      expect(mostOfLimit).toBeCloseTo(most, 10);
    });

    it("lets nodes that start take part, without requests that fail", async () => {
      const starts = [0, 1, 2].map((i) => ({ atMs: 500 + 100 * i }));
      for (const consistency of consistencies) {
        const report = await run({ ...four, consistency, starts }, { seconds: 2 });
        expect(report.failed).toBe(0);
        expect(await run({ ...four, consistency, starts }, { seconds: 2 })).toEqual(report);
      }
    });

    it("fails requests in progress on a node that is killed, and all if no node is left", async () => {
      const slow = { ...four, leastDelayMs: 20, mostDelayMs: 30 };
      const one = await run({ ...slow, ends: [{ node: 2, atMs: 500, isKilled: true }] });
      expect(one.failed).toBeGreaterThan(10);
      expect(one.failed).toBeLessThan(100);
      const ends = [0, 1, 2, 3].map((node) => ({ node, atMs: 500, isKilled: false }));
      const none = await run({ ...slow, ends });
      expect(none.failed / none.checks).toBeGreaterThan(0.4);
      expect(none.failed / none.checks).toBeLessThan(0.6);
      const again = await run({ ...slow, ends, starts: [{ atMs: 600 }] });
      expect(again.failed / again.checks).toBeLessThan(0.2);
    });
  });

  it("shows the load of each shard, and that checks wait for a shard that is too slow", async () => {
    const { shards, checks, p99Wait } = await run({ shards: 4 });
    // The last ones are still on their way at the end.
    expect(shards.reduce((sum, { calls }) => sum + calls, 0) / checks).toBeGreaterThan(0.99);
    for (const { calls, busyShare } of shards) expect(busyShare).toBeCloseTo((calls * 20) / 1_000_000, 10);
    expect((await run({ shards: 1, callUs: 400 })).p99Wait).toBeGreaterThan(10 * p99Wait);
  });

  it("can have at most a thousand nodes", async () => {
    expect((await run({ nodes: 1_000, consistency: "leased" })).mostOfLimit).toBeLessThanOrEqual(1);
    await expect(run({ nodes: 1_001 })).rejects.toThrow("nodes: must be from 1 to 1000");
  });
});
