import { setTimeout as delay } from "node:timers/promises";

/** Longer between two beats is a stall. */
const STALL_MS = 5;

/**
 * When this process did not get to run: a machine that is busy with other things holds timers and replies up alike.
 * It is seen by a heart that should beat each millisecond.
 */
export class Stalls {
  private readonly stalls: { readonly from: number; readonly to: number }[] = [];
  private isOn = true;
  private readonly beating: Promise<void>;

  constructor() {
    this.beating = this.beat();
  }

  async stop(): Promise<void> {
    this.isOn = false;
    await this.beating;
  }

  /** How long it stood still in all by what overlaps this time, in milliseconds. */
  during(from: number, to: number): number {
    return this.stalls
      .filter((stall) => stall.to > from && stall.from < to)
      .reduce((sum, stall) => sum + stall.to - stall.from, 0);
  }

  private async beat(): Promise<void> {
    for (let last = performance.now(); this.isOn; ) {
      await delay(1);
      const now = performance.now();
      if (now - last > STALL_MS) this.stalls.push({ from: last, to: now });
      last = now;
    }
  }
}
