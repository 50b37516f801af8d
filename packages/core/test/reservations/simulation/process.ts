import type { Clock } from "../../../src/clock/clock.ts";
import { Notices } from "../../../src/middleware/notices.ts";
import { Reservations } from "../../../src/reservations/reservations.ts";
import type { VirtualTime } from "../../wrappers/leased/simulation/virtual-time.ts";
import type { ReservationNetwork } from "./network.ts";

/** A process that reserves, with a clock of its own. It can be frozen and can die. */
export class ReservingProcess {
  readonly clock: Clock;
  readonly reservations: Reservations;
  frozenUntil = 0;
  isDead = false;
  private readonly time: VirtualTime;

  /** `offset`: by how many microseconds its clock is off. */
  constructor(time: VirtualTime, network: ReservationNetwork, offset: number) {
    this.time = time;
    this.clock = {
      now: () => time.now + offset,
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
    this.reservations = new Reservations(network.link(this), { clock: this.clock, notices: new Notices(() => {}) });
  }

  /** What happens to it while it is frozen happens when it goes on; to the dead nothing does. */
  run(act: () => void): void {
    if (this.isDead) return;
    if (this.time.now < this.frozenUntil) this.time.at(this.frozenUntil, () => this.run(act));
    else act();
  }

  after(span: number, act: () => void): void {
    this.time.after(span, () => this.run(act));
  }
}
