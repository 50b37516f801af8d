import type { Clock } from "headgate";
import type { VirtualTime } from "./virtual-time.ts";

/** By how many microseconds the clock of a process is off, and how fast it goes. */
export interface ClockSkew {
  readonly offset?: number;
  readonly rate?: number;
}

/** A process with a clock of its own on virtual time. It can stand still for a while, and it can die. */
export class SimulatedProcess {
  readonly clock: Clock;
  pausedUntil = 0;
  isDead = false;
  readonly #time: VirtualTime;

  constructor(time: VirtualTime, { offset = 0, rate = 1 }: ClockSkew = {}) {
    this.#time = time;
    const start = time.now;
    this.clock = {
      now: () => Math.floor(start + offset + (time.now - start) * rate),
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          const onAbort = (): void => reject(signal?.reason);
          signal?.addEventListener("abort", onAbort, { once: true });
          this.after(ms * 1000, () => {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          });
        }),
    };
  }

  /** What happens to a process that stands still happens when it goes on. To the dead, nothing happens. */
  run(act: () => void): void {
    if (this.isDead) return;
    if (this.#time.now < this.pausedUntil) this.#time.at(this.pausedUntil, () => this.run(act));
    else act();
  }

  after(span: number, act: () => void): void {
    this.#time.after(Math.round(span), () => this.run(act));
  }
}
