import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { spawnChild } from "headgate-testkit/child-process";
import { eventually } from "headgate-testkit/eventually";
import type { DatabaseOptions } from "../../src/database/open-database.ts";

interface Work {
  readonly options: DatabaseOptions;
  readonly task: "users" | "counter";
  /** The number of the first one. */
  readonly from?: number;
  readonly count: number;
}

/** A process that changes a database. */
export class Writer {
  /** What was acknowledged, in its order. */
  readonly acknowledged: string[] = [];
  private readonly child: ChildProcess;
  private readonly closed: Promise<unknown[]>;
  private complaints = "";

  constructor({ from = 0, ...work }: Work) {
    const program = fileURLToPath(new URL("writer.mjs", import.meta.url));
    this.child = spawnChild(process.execPath, [program, JSON.stringify({ from, ...work })]);
    this.closed = once(this.child, "close");
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.complaints += text;
    });
    let rest = "";
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      this.acknowledged.push(...lines);
    });
  }

  /** Resolves when it has made this many more changes. */
  async writes(more: number): Promise<void> {
    const wanted = this.acknowledged.length + more;
    await eventually(`it writes ${more} times`, async () => this.acknowledged.length >= wanted || this.hasEnded);
    if (this.hasEnded) throw new Error(`the writer ended: ${this.complaints}`);
  }

  private get hasEnded(): boolean {
    return this.child.exitCode !== null;
  }

  /** Answers when it has done its work; fails if it could not. */
  async done(): Promise<void> {
    const [code] = await this.closed;
    if (code !== 0) throw new Error(`the writer ended with ${code}: ${this.complaints}`);
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.closed;
    if (this.complaints !== "") throw new Error(this.complaints);
  }
}
