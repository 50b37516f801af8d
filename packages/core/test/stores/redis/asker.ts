import { ForkedProcess } from "headgate-testkit/forked-process";
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

/** Under one rule and on one key: takes of one unit for a minimum time and number, or these requests in order. */
export type Task = { readonly name: string; readonly spec: object } & (
  | { readonly forMs: number; readonly atLeast: number }
  | { readonly requests: readonly Request[] }
);

export interface Report {
  readonly asked: number;
  /** Of takes for some time, those that passed; of given requests, all. */
  readonly answered: readonly Answered[];
}

/** A separate process that sends requests to Redis. */
export class Asker {
  private readonly process: ForkedProcess;

  private constructor(url: string) {
    this.process = new ForkedProcess(new URL("asker.mjs", import.meta.url), [url]);
  }

  static async start(url: string): Promise<Asker> {
    const asker = new Asker(url);
    await asker.process.next();
    return asker;
  }

  /** All tasks at once; the reports come in their order. */
  ask(prefix: string, tasks: readonly Task[]): Promise<Report[]> {
    this.process.send({ prefix, tasks });
    return this.process.next();
  }

  /** Asks so often for the first of several limits that has room. Tells which of them was charged, or -1, for each. */
  chooseFirst(prefix: string, alternatives: readonly object[], requests: number): Promise<number[]> {
    this.process.send({ prefix, alternatives, requests });
    return this.process.next();
  }

  stop(): void {
    this.process.kill();
  }
}
