import { cached, leased, type Store } from "headgate";
import { split } from "headgate/redis";
import type { ClusterModel } from "./cluster-model.ts";
import type { SimulatedNetwork } from "./simulated-network.ts";
import { SimulatedProcess } from "./simulated-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** One process with the wrapper that it would have. */
export class SimulatedNode extends SimulatedProcess {
  roundTrips = 0;
  readonly store: Store;

  constructor(time: VirtualTime, network: SimulatedNetwork, model: ClusterModel) {
    super(time);
    this.store = storeOf(model, network, this);
  }
}

function storeOf(model: ClusterModel, network: SimulatedNetwork, node: SimulatedNode): Store {
  const { clock } = node;
  if (model.consistency === "split") return split(network.client(node), { group: "nodes", clock });
  const link = network.link(node);
  if (model.consistency === "cached") return cached(link, { clock });
  return model.consistency === "leased" ? leased(link, { clock, nodes: model.nodes }) : link;
}
