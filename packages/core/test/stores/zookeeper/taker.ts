import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

export interface TakerOptions {
  readonly root: string;
  /** How far its clock is ahead of this machine's. */
  readonly aheadMs?: number;
  readonly sessionTimeoutMs?: number;
}

export interface Order {
  readonly spec: object;
  readonly inFlight: number;
  readonly forMs: number;
  /** Each of them stops when it is denied. */
  readonly untilDenied?: boolean;
}

export interface Report {
  readonly allowed: number;
  readonly denied: number;
  readonly failed: number;
  /** What it was told at the last denial. */
  readonly retryAfterMs: number;
  /** When it was last answered. */
  readonly lastMs: number;
}

/** A process of its own that takes one unit after the other from one key. */
export class Taker {
  private readonly process: ChildProcess;
  /** Rejects when the process is no more. */
  private readonly ended: Promise<never>;

  private constructor(address: string, { root, aheadMs = 0, sessionTimeoutMs = 10_000 }: TakerOptions) {
    const args = [address, root, String(aheadMs), String(sessionTimeoutMs)];
    this.process = fork(new URL("taker.mjs", import.meta.url), args);
    this.ended = once(this.process, "exit").then(([code, signal]) => {
      throw new Error(`taker.mjs ended: ${code ?? signal}`);
    });
    this.ended.catch(() => {});
  }

  static async start(address: string, options: TakerOptions): Promise<Taker> {
    const taker = new Taker(address, options);
    await taker.told();
    return taker;
  }

  async take(order: Order): Promise<Report> {
    this.process.send(order);
    const [report] = await this.told();
    return report;
  }

  /** Freezes it, as a machine that is busy with something else. */
  pause(): void {
    this.process.kill("SIGSTOP");
  }

  resume(): void {
    this.process.kill("SIGCONT");
  }

  stop(): void {
    this.process.kill("SIGKILL");
  }

  private told(): Promise<Report[]> {
    return Promise.race([once(this.process, "message"), this.ended]);
  }
}
