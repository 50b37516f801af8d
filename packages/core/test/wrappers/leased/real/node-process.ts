import { ForkedProcess } from "headgate-testkit/forked-process";
import { afterEach } from "vitest";
import type { RedisStoreOptions } from "../../../../src/redis.ts";
import type { LeaseView } from "../../../../src/stores/store.ts";
import type { LeasedOptions } from "../../../../src/wrappers/leased/leased-options.ts";
import type { LeasedStats } from "../../../../src/wrappers/leased/leased-stats.ts";
import type { Policy } from "../../../../src/wrappers/resilient/on-error.ts";
import type { ZooKeeperStoreOptions } from "../../../../src/zookeeper.ts";
import type { Tally } from "./admissions.ts";

export interface NodeSettings {
  /** Where the store is. */
  readonly server: { readonly redis: string } | { readonly zookeeper: string };
  /** Of the fixed window that all share. */
  readonly limit: number;
  readonly windowMs: number;
  /** How many leased stores the process has (default 1), each with its own client. */
  readonly nodes?: number;
  /** By how much its clock is ahead of the machine's. */
  readonly aheadMs?: number;
  /** How far the store's clock may be off the machine's. */
  readonly slackMs?: number;
  readonly options?: LeasedOptions;
  readonly store?: RedisStoreOptions | ZooKeeperStoreOptions;
  /** Puts `resilient` between, with this policy. */
  readonly fallBack?: Policy;
}

interface Traffic {
  /** Which nodes of the process (default: all). */
  readonly on?: readonly number[];
  readonly forMs: number;
  readonly untilDenied?: boolean;
}

/** A separate process with leased stores, which can be frozen and killed. */
export class NodeProcess {
  readonly process: ForkedProcess;
  private orders = 0;

  constructor(settings: NodeSettings) {
    this.process = new ForkedProcess(new URL("node.mjs", import.meta.url), [JSON.stringify(settings)]);
  }

  async ready(): Promise<void> {
    await this.told(0);
  }

  /** `startAt`: a time of the machine's clock, in microseconds. */
  hammer(traffic: Traffic & { readonly inFlight: number; readonly startAt?: number }): Promise<Tally> {
    return this.order("hammer", traffic);
  }

  pace(traffic: Traffic & { readonly perMs: number }): Promise<Tally> {
    return this.order("pace", traffic);
  }

  take(requests: { readonly node?: number; readonly times: number; readonly cost?: number }): Promise<Tally> {
    return this.order("take", requests);
  }

  /** Ends all traffic here. */
  stopTraffic(): Promise<void> {
    return this.order("stop");
  }

  stats(): Promise<LeasedStats[]> {
    return this.order("stats");
  }

  leases(): Promise<(LeaseView | undefined)[]> {
    return this.order("leases");
  }

  close(): Promise<void> {
    return this.order("close");
  }

  private order<Value>(name: string, order?: object): Promise<Value> {
    this.orders += 1;
    const id = this.orders;
    const told = this.told<Value>(id);
    this.process.send({ id, name, order });
    return told;
  }

  private async told<Value>(id: number): Promise<Value> {
    const { value, error } = await this.process.next<Told<Value>>((message) => message.id === id);
    if (error !== undefined) throw new Error(error);
    return value;
  }
}

interface Told<Value> {
  readonly id: number;
  readonly value: Value;
  readonly error?: string;
}

/** Starts processes for tests, and ends them with each; or after all, where tests run at the same time. */
export function useNodes(
  after: (end: () => void) => void = afterEach,
): (settings: NodeSettings, processes?: number) => Promise<NodeProcess[]> {
  const started: NodeProcess[] = [];
  after(() => {
    for (const node of started.splice(0)) node.process.kill();
  });
  return async (settings, processes = 1) => {
    const nodes = Array.from({ length: processes }, () => new NodeProcess(settings));
    started.push(...nodes);
    await Promise.all(nodes.map((node) => node.ready()));
    return nodes;
  };
}
