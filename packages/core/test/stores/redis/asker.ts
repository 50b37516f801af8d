import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Action } from "../../../src/index.ts";

export interface Request {
  readonly action: Action;
  readonly cost: number;
}

/** A request with what came of it, and when: microseconds of a clock that all processes share. */
export interface Answered extends Request {
  readonly sent: number;
  readonly received: number;
  readonly allowed: boolean;
  readonly remaining: number;
}

/** Under one rule and on one key: takes of one unit for some time and at least so many, or these requests in order. */
export type Task = { readonly name: string; readonly spec: object } & (
  | { readonly forMs: number; readonly atLeast: number }
  | { readonly requests: readonly Request[] }
);

export interface Report {
  readonly asked: number;
  /** Of takes for some time, those that passed; of given requests, all. */
  readonly answered: readonly Answered[];
}

/** A process of its own that asks a Redis. */
export class Asker {
  private readonly process: ChildProcess;
  /** Rejects when the process is no more. */
  private readonly ended: Promise<never>;

  private constructor(url: string) {
    this.process = fork(new URL("asker.mjs", import.meta.url), [url]);
    this.ended = once(this.process, "exit").then(([code, signal]) => {
      throw new Error(`asker.mjs ended: ${code ?? signal}`);
    });
    this.ended.catch(() => {});
  }

  static async start(url: string): Promise<Asker> {
    const asker = new Asker(url);
    await asker.told();
    return asker;
  }

  /** All tasks at once; the reports come in their order. */
  async ask(prefix: string, tasks: readonly Task[]): Promise<Report[]> {
    if (this.process.connected) this.process.send({ prefix, tasks });
    const [reports] = await this.told();
    return reports;
  }

  stop(): void {
    this.process.kill("SIGKILL");
  }

  private told(): Promise<Report[][]> {
    return Promise.race([once(this.process, "message"), this.ended]);
  }
}
