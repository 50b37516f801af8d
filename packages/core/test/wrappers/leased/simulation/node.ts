import type { Clock } from "../../../../src/clock/clock.ts";
import { LeasedStore } from "../../../../src/wrappers/leased/leased.ts";
import type { LeasedOptions } from "../../../../src/wrappers/leased/leased-options.ts";
import type { Network } from "./network.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** A process with a clock of its own, which can be paused and can die. */
export class SimulatedNode {
  readonly clock: Clock;
  readonly store: LeasedStore;
  pausedUntil = 0;
  isDead = false;
  private readonly time: VirtualTime;

  /** `offset` and `rate`: by how much its clock is off, and how fast it goes. */
  constructor(
    time: VirtualTime,
    network: Network,
    options: LeasedOptions,
    skew: { readonly offset: number; readonly rate: number },
  ) {
    this.time = time;
    const start = time.now;
    this.clock = {
      now: () => Math.floor(start + skew.offset + (time.now - start) * skew.rate),
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
    this.store = new LeasedStore(network.link(this), { ...options, clock: this.clock });
  }

  /** What happens to it while it is paused happens when it goes on; to the dead nothing does. */
  run(act: () => void): void {
    if (this.isDead) return;
    if (this.time.now < this.pausedUntil) this.time.at(this.pausedUntil, () => this.run(act));
    else act();
  }

  after(span: number, act: () => void): void {
    this.time.after(span, () => this.run(act));
  }
}
