import { type Answer, HeadgateError, type Operation, type Store, StoreError } from "headgate";
import { type ModelRequest, modelRequests, randomOf } from "../traffic/model-requests.ts";
import type { Random } from "../traffic/random.ts";
import type { ClusterModel, ClusterReport, ClusterRun } from "./cluster-model.ts";
import { LatencyCounts } from "./latency-counts.ts";
import { SimulatedNetwork } from "./simulated-network.ts";
import { SimulatedNode, START_UP } from "./simulated-node.ts";
import { VirtualTime } from "./virtual-time.ts";
import { WindowUsage } from "./window-usage.ts";

const MOST_NODES = 1_000;
/** Nodes do not start at the same moment, or all their heartbeats would be sent at the same moments. */
const START_SPREAD = 150_000;
/** What is in flight at the end gets this much longer, in microseconds. */
const GRACE = 10_000_000;
const STEP = 100_000;

/** Decides the traffic of a model on many nodes, with the wrappers of the library, on virtual time. */
export async function simulateCluster({ traffic, rule, cluster }: ClusterRun): Promise<ClusterReport> {
  const mostNodes = cluster.nodes + cluster.starts.length;
  if (cluster.nodes < 1 || mostNodes > MOST_NODES) {
    throw new HeadgateError("HG_BAD_OPTION", "nodes", `must be from 1 to ${MOST_NODES}, got ${mostNodes}`);
  }
  const time = new VirtualTime(traffic.start - START_UP);
  // Far from those of the sources.
  const random = randomOf(traffic.seed, 1_000_003);
  const network = new SimulatedNetwork(time, random, cluster);
  const nodes = await startedNodes(time, network, cluster, randomOf(traffic.seed, 1_000_033));
  await time.runUntil(traffic.start - 1);
  for (const node of nodes) node.isAccepting = true;
  const earlier = {
    shards: network.shards.map(({ calls, busy }) => ({ calls, busy })),
    roundTrips: roundTripsOf(nodes),
  };
  const usage = new WindowUsage(rule.limit);
  const waits = new LatencyCounts();
  const counts = { checks: 0, admitted: 0, denied: 0, failed: 0 };

  const check = ({ key, cost }: ModelRequest): void => {
    const accepting = nodes.filter(({ isAccepting }) => isAccepting);
    const began = time.now;
    counts.checks += 1;
    if (accepting.length === 0) {
      counts.failed += 1;
      return;
    }
    const node = accepting[random.whole(0, accepting.length - 1)];
    const answered = ([{ allowed }]: readonly Answer[]): void => {
      ended();
      counts[allowed ? "admitted" : "denied"] += 1;
      usage.count(key, cost, allowed, time.now);
      waits.add(time.now - began);
    };
    const failed = (): void => {
      ended();
      counts.failed += 1;
      waits.add(time.now - began);
    };
    const ended = node.begin(failed);
    node.run(() => {
      const answers = answersOf(node, { rule, key, cost });
      if (answers !== undefined && "then" in answers) {
        answers.then(answered, failed);
        return;
      }
      time.settled();
      if (answers === undefined) failed();
      else answered(answers);
    });
  };

  for (const { node, atMs, forMs } of cluster.pauses) {
    time.at(traffic.start + atMs * 1000, () => {
      nodes[node % nodes.length].pausedUntil = time.now + forMs * 1000;
    });
  }
  for (const { atMs } of cluster.starts) {
    time.at(traffic.start + atMs * 1000, () => {
      const node = new SimulatedNode(time, network, cluster);
      nodes.push(node);
      node.accept();
    });
  }
  for (const { node, atMs, isKilled } of cluster.ends) {
    time.at(traffic.start + atMs * 1000, () => {
      const ending = nodes[node % nodes.length];
      if (isKilled) ending.kill();
      else ending.stop();
    });
  }
  for (const { shard, atMs, forMs, losesData } of cluster.failovers) {
    time.at(traffic.start + atMs * 1000, () => {
      network.shards[shard % network.shards.length].stop(forMs * 1000, losesData);
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
  const shards = network.shards.map(({ calls, busy }, i) => {
    const before = earlier.shards[i];
    return { calls: calls - before.calls, busyShare: (busy - before.busy) / (seconds * 1_000_000) };
  });
  const roundTrips = roundTripsOf(nodes) - earlier.roundTrips;
  const isOpen = (): boolean => counts.admitted + counts.denied + counts.failed < counts.checks;
  while (isOpen() && time.now < end + GRACE) await time.runUntil(time.now + STEP);
  return {
    ...counts,
    ...usage.report(),
    ...waits.report(),
    roundTripsPerThousand: counts.checks === 0 ? 0 : (1000 * roundTrips) / counts.checks,
    shards,
    seconds,
  };
}

/** Starts the nodes at random, one after the other. */
async function startedNodes(
  time: VirtualTime,
  network: SimulatedNetwork,
  cluster: ClusterModel,
  random: Random,
): Promise<SimulatedNode[]> {
  const starts = Array.from({ length: cluster.nodes }, () => time.now + random.whole(0, START_SPREAD));
  const nodes: SimulatedNode[] = [];
  for (const start of starts.sort((a, b) => a - b)) {
    await time.runUntil(start);
    nodes.push(new SimulatedNode(time, network, cluster));
  }
  return nodes;
}

function roundTripsOf(nodes: readonly SimulatedNode[]): number {
  return nodes.reduce((sum, node) => sum + node.roundTrips, 0);
}

/** Undefined if the node cannot decide at the moment: it has no share of a split limit. */
function answersOf({ store }: SimulatedNode, operation: Operation): ReturnType<Store["apply"]> | undefined {
  try {
    return store.apply("take", [operation]);
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}
