import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { nextMessage } from "../run/next-message.ts";
import type { Figures, Task } from "../suite.ts";
import { traffics } from "./traffics.ts";

/** Instructions for one process, as plain data. */
export interface NodeOrders {
  readonly suite: string;
  readonly subject: string;
  readonly address: string;
  readonly keys: number;
  readonly place: number;
  readonly warmUpMs: number;
  readonly timedMs: number;
}

/** The results of one process. */
export interface NodeFigures {
  readonly checks: number;
  readonly elapsedMs: number;
  readonly p99: number;
  readonly roundTrips: number;
}

export async function measureNodes({ suite, experiment, subject, timedMs, address }: Task): Promise<Figures> {
  const traffic = traffics.find(({ name }) => name === experiment);
  if (traffic === undefined || address === undefined) throw new Error(`there is no ${experiment} to measure`);
  const { keys, processes, warmUpMs } = traffic;
  const nodes = Array.from({ length: processes }, (_, place) =>
    start({ suite, subject, address, keys, place, warmUpMs, timedMs }),
  );
  // All start together when the last one has connected.
  await Promise.all(nodes.map(nextMessage));
  for (const node of nodes) node.send("begin");
  const figures: NodeFigures[] = await Promise.all(nodes.map(nextMessage));
  // Returning leases must not affect the next subject.
  await Promise.all(nodes.map((node) => node.exitCode ?? once(node, "exit")));
  const sum = (of: (node: NodeFigures) => number) => figures.reduce((total, node) => total + of(node), 0);
  return {
    [experiment]: sum(({ checks, elapsedMs }) => checks / elapsedMs),
    [`${experiment}-p99`]: Math.max(...figures.map(({ p99 }) => p99)),
    [`${experiment}-trips`]: (1_000 * sum(({ roundTrips }) => roundTrips)) / sum(({ checks }) => checks),
  };
}

function start(orders: NodeOrders): ChildProcess {
  return fork(new URL("./node.js", import.meta.url), [JSON.stringify(orders)], { stdio: ["ignore", 2, 2, "ipc"] });
}
