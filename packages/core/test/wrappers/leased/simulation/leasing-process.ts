import { type ClockSkew, SimulatedProcess, type VirtualTime } from "headgate-simulator/virtual-time";
import { LeasedStore } from "../../../../src/wrappers/leased/leased.ts";
import type { LeasedOptions } from "../../../../src/wrappers/leased/leased-options.ts";
import type { Network } from "./network.ts";

/** A process that leases quota. */
export class LeasingProcess extends SimulatedProcess {
  readonly store: LeasedStore;

  constructor(time: VirtualTime, network: Network, options: LeasedOptions, skew: ClockSkew) {
    super(time, skew);
    this.store = new LeasedStore(network.link(this), { ...options, clock: this.clock });
  }
}
