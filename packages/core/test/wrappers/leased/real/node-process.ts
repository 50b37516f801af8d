import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { afterEach } from "vitest";
import type { LeasedOptions, LeasedStats, LeaseView, Policy } from "../../../../src/index.ts";
import type { RedisStoreOptions } from "../../../../src/redis.ts";
import type { ZooKeeperStoreOptions } from "../../../../src/zookeeper.ts";
import type { Tally } from "./admissions.ts";

export interface NodeSettings {
  /** Where the store is. */
  readonly server: { readonly redis: string } | { readonly zookeeper: string };
  /** Of the fixed window that all share. */
  readonly limit: number;
  readonly windowMs: number;
  /** How many leased stores the process has (default 1), each with a client of its own. */
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

/** A process of its own with leased stores, which can be frozen and killed. */
export class NodeProcess {
  private readonly process: ChildProcess;
  /** Rejects when the process is no more. */
  private readonly ended: Promise<never>;
  private orders = 0;

  constructor(settings: NodeSettings) {
    this.process = fork(new URL("node.mjs", import.meta.url), [JSON.stringify(settings)], {
      serialization: "advanced",
      // It runs the build, not the sources.
      execArgv: [],
    });
    this.process.setMaxListeners(100);
    this.ended = once(this.process, "exit").then(([code, signal]) => {
      throw new Error(`node.mjs ended: ${code ?? signal}`);
    });
    this.ended.catch(() => {});
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

  freeze(): void {
    this.process.kill("SIGSTOP");
  }

  thaw(): void {
    this.process.kill("SIGCONT");
  }

  kill(): void {
    this.process.kill("SIGKILL");
  }

  private order<Value>(name: string, order?: object): Promise<Value> {
    this.orders += 1;
    const id = this.orders;
    const told = this.told<Value>(id);
    this.process.send({ id, name, order });
    return told;
  }

  private told<Value>(id: number): Promise<Value> {
    const answered = new Promise<Value>((resolve, reject) => {
      const hear = (message: { readonly id: number; readonly value: Value; readonly error?: string }): void => {
        if (message.id !== id) return;
        this.process.off("message", hear);
        if (message.error === undefined) resolve(message.value);
        else reject(new Error(message.error));
      };
      this.process.on("message", hear);
    });
    return Promise.race([answered, this.ended]);
  }
}

/** Starts processes for tests, and ends them with each; or after all, where tests run at the same time. */
export function useNodes(
  after: (end: () => void) => void = afterEach,
): (settings: NodeSettings, processes?: number) => Promise<NodeProcess[]> {
  const started: NodeProcess[] = [];
  after(() => {
    for (const node of started.splice(0)) node.kill();
  });
  return async (settings, processes = 1) => {
    const nodes = Array.from({ length: processes }, () => new NodeProcess(settings));
    started.push(...nodes);
    await Promise.all(nodes.map((node) => node.ready()));
    return nodes;
  };
}
