import { type Clock, cached, leased, type Store } from "headgate";
import { split } from "headgate/redis";
import type { ClusterModel } from "./cluster-model.ts";
import type { SimulatedNetwork } from "./simulated-network.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** One process with the wrapper that it would have, on virtual time. It can stand still for a while. */
export class SimulatedNode {
  roundTrips = 0;
  pausedUntil = 0;
  readonly clock: Clock;
  readonly store: Store;
  readonly #time: VirtualTime;

  constructor(time: VirtualTime, network: SimulatedNetwork, model: ClusterModel) {
    this.#time = time;
    this.clock = {
      now: () => time.now,
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
    this.store = storeOf(model, network, this);
  }

  /** What happens to a node that stands still happens when it goes on. */
  run(act: () => void): void {
    if (this.#time.now >= this.pausedUntil) act();
    else {
      this.#time.at(this.pausedUntil, () => {
        this.run(act);
        return undefined;
      });
    }
  }

  after(span: number, act: () => void): void {
    this.#time.after(Math.round(span), () => {
      this.run(act);
      return undefined;
    });
  }
}

function storeOf(model: ClusterModel, network: SimulatedNetwork, node: SimulatedNode): Store {
  const { clock } = node;
  if (model.consistency === "split") return split(network.client(node), { group: "nodes", clock });
  const link = network.link(node);
  if (model.consistency === "cached") return cached(link, { clock });
  return model.consistency === "leased" ? leased(link, { clock, nodes: model.nodes }) : link;
}
