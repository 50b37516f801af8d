import { type ChildProcess, fork } from "node:child_process";
import { nextMessage } from "../run/next-message.ts";
import type { Call, Orders } from "./orders.ts";

/** Processes that share a limit and begin together. */
export class Team {
  private readonly nodes: readonly ChildProcess[];

  constructor(orders: readonly Orders[]) {
    this.nodes = orders.map((each) =>
      fork(new URL("./process.js", import.meta.url), [JSON.stringify(each)], { stdio: ["ignore", 2, 2, "ipc"] }),
    );
  }

  /** Resolves when all of them have connected. */
  async ready(): Promise<void> {
    await Promise.all(this.nodes.map(nextMessage));
  }

  /** Their calls, once they are done; undefined for a process that crashed. */
  begin(): Promise<readonly (readonly Call[] | undefined)[]> {
    for (const node of this.nodes) node.send("begin");
    return Promise.all(this.nodes.map((node) => nextMessage(node).catch(() => undefined)));
  }

  stop(): void {
    for (const node of this.nodes) node.kill("SIGKILL");
  }
}
