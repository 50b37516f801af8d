import type { Rule } from "headgate";
import type { TrafficModel } from "../traffic/traffic-model.ts";

/** Where a rule is decided. */
export type ClusterConsistency = "strict" | "cached" | "leased" | "split";

/** Processes that share limits through stores, and what goes wrong between them. */
export interface ClusterModel {
  /** Number of processes at the start. Requests are distributed at random over those that run. */
  readonly nodes: number;
  readonly consistency: ClusterConsistency;
  /** Number of servers that the keys are distributed over. */
  readonly shards: number;
  /** Time from a node to a shard or back, in milliseconds: equally likely between these. */
  readonly leastDelayMs: number;
  readonly mostDelayMs: number;
  /** How much longer one in a hundred messages takes, in milliseconds. */
  readonly slowDelayMs: number;
  /** The share of messages that are lost. */
  readonly loss: number;
  /** How long a shard is busy with one call, in microseconds. Calls wait for each other. */
  readonly callUs: number;
  /** How long a node waits for an answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Nodes that stand still for a while. */
  readonly pauses: readonly { readonly node: number; readonly atMs: number; readonly forMs: number }[];
  /** Nodes that start later, with the next numbers. With `split`, they accept requests as soon as they have a share. */
  readonly starts: readonly { readonly atMs: number }[];
  /** Nodes that end. A node that is killed gives nothing back, and its requests in progress fail. */
  readonly ends: readonly { readonly node: number; readonly atMs: number; readonly isKilled: boolean }[];
  /** Shards that do not answer for a while. With `losesData`, a replica without the latest data takes over, here none. */
  readonly failovers: readonly {
    readonly shard: number;
    readonly atMs: number;
    readonly forMs: number;
    readonly losesData: boolean;
  }[];
}

export interface ClusterRun {
  readonly traffic: TrafficModel;
  readonly rule: Rule;
  readonly cluster: ClusterModel;
}

export interface ClusterReport {
  readonly checks: number;
  readonly admitted: number;
  readonly denied: number;
  /** Checks that were not answered in time. */
  readonly failed: number;
  /** The units that a key was admitted in a window, as a share of what the limit allows: the most, and the average of keys that were denied. */
  readonly mostOfLimit: number;
  readonly averageOfLimit: number;
  readonly roundTripsPerThousand: number;
  /** How long checks waited, in microseconds. */
  readonly medianWait: number;
  readonly p99Wait: number;
  readonly longestWait: number;
  readonly shards: readonly { readonly calls: number; readonly busyShare: number }[];
  readonly seconds: number;
}
