import { ForkedProcess } from "headgate-testkit/forked-process";

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
  /** The answer of the last denial. */
  readonly retryAfterMs: number;
  /** When it was last answered. */
  readonly lastMs: number;
}

/** A separate process that takes one unit after the other from one key. */
export class Taker {
  readonly process: ForkedProcess;

  private constructor(address: string, { root, aheadMs = 0, sessionTimeoutMs = 10_000 }: TakerOptions) {
    const args = [address, root, String(aheadMs), String(sessionTimeoutMs)];
    this.process = new ForkedProcess(new URL("taker.mjs", import.meta.url), args);
  }

  static async start(address: string, options: TakerOptions): Promise<Taker> {
    const taker = new Taker(address, options);
    await taker.process.next();
    return taker;
  }

  take(order: Order): Promise<Report> {
    this.process.send(order);
    return this.process.next();
  }
}
