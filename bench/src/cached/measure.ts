import { fork } from "node:child_process";
import { nextMessage } from "../run/next-message.ts";
import type { Figures, Task } from "../suite.ts";
import { type Traffic, traffics } from "./traffics.ts";

/** Instructions for one process, as plain data. */
export interface NodeOrders {
  readonly subject: string;
  readonly address: string;
  /** Prefix of the counters, unique per run. */
  readonly run: string;
  readonly traffic: Traffic;
}

/** The results of one process; latencies in milliseconds. */
export interface NodeFigures {
  readonly checks: number;
  readonly allowed: number;
  readonly elapsedMs: number;
  readonly p50: number;
  readonly p99: number;
}

export async function measureOverAdmission({ experiment, subject, address }: Task): Promise<Figures> {
  const traffic = traffics.find(({ name }) => name === experiment);
  if (traffic === undefined || address === undefined) throw new Error(`there is no ${experiment} to measure`);
  const orders: NodeOrders = { subject, address, run: crypto.randomUUID(), traffic };
  const nodes = Array.from({ length: traffic.processes }, () =>
    fork(new URL("./node.js", import.meta.url), [JSON.stringify(orders)], { stdio: ["ignore", 2, 2, "ipc"] }),
  );
  // All start together when the last one has connected.
  await Promise.all(nodes.map(nextMessage));
  for (const node of nodes) node.send("begin");
  const figures: NodeFigures[] = await Promise.all(nodes.map(nextMessage));
  const most = traffic.keys * traffic.limit;
  const allowed = figures.reduce((sum, node) => sum + node.allowed, 0);
  return {
    [`${experiment}-over`]: (100 * (allowed - most)) / most,
    [`${experiment}-p50`]: 1000 * Math.max(...figures.map(({ p50 }) => p50)),
    [`${experiment}-p99`]: 1000 * Math.max(...figures.map(({ p99 }) => p99)),
  };
}
