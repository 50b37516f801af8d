import { type Answer, HeadgateError } from "headgate";
import { type ModelRequest, modelRequests, randomOf } from "../traffic/model-requests.ts";
import type { ClusterReport, ClusterRun } from "./cluster-model.ts";
import { LatencyCounts } from "./latency-counts.ts";
import { SimulatedNetwork } from "./simulated-network.ts";
import { SimulatedNode } from "./simulated-node.ts";
import { VirtualTime } from "./virtual-time.ts";
import { WindowUsage } from "./window-usage.ts";

const MOST_NODES = 1_000;
/** What is in flight at the end gets this much longer, in microseconds. */
const GRACE = 10_000_000;

/** Decides the traffic of a model on many nodes, with the wrappers of the library, on virtual time. */
export async function simulateCluster({ traffic, rule, cluster }: ClusterRun): Promise<ClusterReport> {
  if (cluster.nodes < 1 || cluster.nodes > MOST_NODES) {
    throw new HeadgateError("HG_BAD_OPTION", "nodes", `must be from 1 to ${MOST_NODES}, got ${cluster.nodes}`);
  }
  const time = new VirtualTime(traffic.start);
  // Far from those of the sources.
  const random = randomOf(traffic.seed, 1_000_003);
  const network = new SimulatedNetwork(time, random, cluster);
  const nodes = Array.from({ length: cluster.nodes }, (_, rank) => new SimulatedNode(time, network, cluster, rank));
  const usage = new WindowUsage(rule.limit);
  const waits = new LatencyCounts();
  const counts = { checks: 0, admitted: 0, denied: 0, failed: 0 };

  const check = ({ key, cost }: ModelRequest): { readonly isSettled: boolean } => {
    const node = nodes[random.whole(0, nodes.length - 1)];
    const began = time.now;
    let isSettled = false;
    counts.checks += 1;
    const answered = ([{ allowed }]: readonly Answer[]): void => {
      counts[allowed ? "admitted" : "denied"] += 1;
      usage.count(key, cost, allowed, time.now);
      waits.add(time.now - began);
    };
    node.run(() => {
      const answers = node.store.apply("take", [{ rule, key, cost }]);
      if (!("then" in answers)) {
        isSettled = true;
        answered(answers);
        return;
      }
      answers.then(answered, () => {
        counts.failed += 1;
        waits.add(time.now - began);
      });
    });
    return { isSettled };
  };

  for (const { node, atMs, forMs } of cluster.pauses) {
    time.at(traffic.start + atMs * 1000, () => {
      nodes[node % nodes.length].pausedUntil = time.now + forMs * 1000;
      return undefined;
    });
  }
  for (const { shard, atMs, forMs, losesData } of cluster.failovers) {
    time.at(traffic.start + atMs * 1000, () => {
      network.shards[shard % network.shards.length].stop(forMs * 1000, losesData);
      return undefined;
    });
  }
  for (const request of modelRequests(traffic)) {
    await time.runUntil(request.time - 1);
    time.now = request.time;
    time.at(request.time, () => check(request));
  }
  const end = traffic.start + traffic.durationMs * 1000;
  await time.runUntil(end);
  const seconds = traffic.durationMs / 1000;
  const shards = network.shards.map(({ calls, busy }) => ({ calls, busyShare: busy / (seconds * 1_000_000) }));
  const roundTrips = nodes.reduce((sum, node) => sum + node.roundTrips, 0);
  await time.runUntil(end + GRACE);
  return {
    ...counts,
    ...usage.report(),
    ...waits.report(),
    roundTripsPerThousand: counts.checks === 0 ? 0 : (1000 * roundTrips) / counts.checks,
    shards,
    seconds,
  };
}
