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
  failovers: [],
};

function run(
  cluster: Partial<ClusterModel>,
  { seed = 1, limit = fixedWindow("300/s") as Limit } = {},
): Promise<ClusterReport> {
  // Three keys of ten go over their limit.
  const source = trafficSource({ name: "k", rate: 3_000, keys: 10, zipf: 1 });
  const traffic = { seed, start: 1_767_225_600_000_000, durationMs: 1_000, sources: [source] };
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

  it("asks the store for every check in strict mode, less often otherwise, and never if the limit is split", async () => {
    const trips = new Map<ClusterConsistency, number>();
    for (const consistency of consistencies) {
      const { roundTripsPerThousand, p99Wait } = await run({ consistency });
      trips.set(consistency, roundTripsPerThousand);
      if (consistency === "split") expect(p99Wait).toBe(0);
    }
    expect(trips.get("strict")).toBe(1_000);
    expect(trips.get("cached")).toBeLessThan(1_000);
    expect(trips.get("leased")).toBeLessThan(1_000);
    expect(trips.get("split")).toBe(0);
  });

  it.each(["strict", "leased", "split"] as const)(
    "admits no more than the limit, whatever is lost: %s",
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

  it("shows the load of each shard, and that checks wait for a shard that is too slow", async () => {
    const { shards, checks, p99Wait } = await run({ shards: 4 });
    // The last ones are still on their way at the end.
    expect(shards.reduce((sum, { calls }) => sum + calls, 0) / checks).toBeGreaterThan(0.99);
    for (const { calls, busyShare } of shards) expect(busyShare).toBeCloseTo((calls * 20) / 1_000_000, 10);
    expect((await run({ shards: 1, callUs: 400 })).p99Wait).toBeGreaterThan(10 * p99Wait);
  });

  it("can have a thousand nodes, and no more", async () => {
    expect((await run({ nodes: 1_000, consistency: "leased" })).mostOfLimit).toBeLessThanOrEqual(1);
    await expect(run({ nodes: 1_001 })).rejects.toThrow("nodes: must be from 1 to 1000");
  });
});
