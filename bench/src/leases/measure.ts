import { fork } from "node:child_process";
import type { Figures, Task } from "../suite.ts";
import { traffics } from "./traffics.ts";

/** Until all processes have started and found how much to take at a time. */
const WARM_UP_MS = 2_000;

/** What one process is told to do: plain data. */
export interface NodeOrders {
  readonly subject: string;
  readonly address: string;
  readonly keys: number;
  readonly place: number;
  readonly warmUpMs: number;
  readonly timedMs: number;
}

/** What one process saw. */
export interface NodeFigures {
  readonly checks: number;
  readonly p99: number;
  readonly roundTrips: number;
}

export async function measureNodes({ experiment, subject, timedMs, address }: Task): Promise<Figures> {
  const traffic = traffics.find(({ name }) => name === experiment);
  if (traffic === undefined || address === undefined) throw new Error(`there is no ${experiment} to measure`);
  const { keys, processes } = traffic;
  const nodes = await Promise.all(
    Array.from({ length: processes }, (_, place) =>
      runNode({ subject, address, keys, place, warmUpMs: WARM_UP_MS, timedMs }),
    ),
  );
  const checks = nodes.reduce((sum, node) => sum + node.checks, 0);
  const roundTrips = nodes.reduce((sum, node) => sum + node.roundTrips, 0);
  return {
    [experiment]: checks / timedMs,
    [`${experiment}-p99`]: Math.max(...nodes.map(({ p99 }) => p99)),
    [`${experiment}-trips`]: (1_000 * roundTrips) / checks,
  };
}

function runNode(orders: NodeOrders): Promise<NodeFigures> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL("./node.js", import.meta.url), [JSON.stringify(orders)], {
      stdio: ["ignore", 2, 2, "ipc"],
    });
    child.on("message", (figures) => resolve(figures as NodeFigures));
    child.on("error", reject);
    child.on("exit", (code, signal) => reject(new Error(`a process ended with ${signal ?? code} and no figures`)));
  });
}
