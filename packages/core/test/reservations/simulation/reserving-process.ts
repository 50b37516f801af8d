import { SimulatedProcess, type VirtualTime } from "headgate-simulator/virtual-time";
import { Notices } from "../../../src/middleware/notices.ts";
import { Reservations } from "../../../src/reservations/reservations.ts";
import type { ReservationNetwork } from "./network.ts";

/** A process that reserves. */
export class ReservingProcess extends SimulatedProcess {
  readonly reservations: Reservations;

  /** `offset`: by how many microseconds its clock is off. */
  constructor(time: VirtualTime, network: ReservationNetwork, offset: number) {
    super(time, { offset });
    this.reservations = new Reservations(network.link(this), { clock: this.clock, notices: new Notices(() => {}) });
  }
}
