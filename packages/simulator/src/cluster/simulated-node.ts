import { cached, leased, type Store } from "headgate";
import { split } from "headgate/redis";
import type { ClusterModel } from "./cluster-model.ts";
import type { SimulatedNetwork } from "./simulated-network.ts";
import { SimulatedProcess } from "./simulated-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** How long nodes of the service wait for their share of a split limit before they accept requests, in microseconds. */
export const START_UP = 3_000_000;

interface NodeStore {
  readonly store: Store;
  ready?(): Promise<void>;
  close?(): Promise<void>;
}

/** One process with the wrapper that it would have. */
export class SimulatedNode extends SimulatedProcess {
  roundTrips = 0;
  /** Whether it is sent requests. */
  isAccepting = false;
  readonly #parts: NodeStore;
  /** What happens to the requests in progress if the process is killed. */
  readonly #open = new Set<() => void>();
  #isStopping = false;
  #isClosing = false;

  constructor(time: VirtualTime, network: SimulatedNetwork, model: ClusterModel) {
    super(time);
    this.#parts = partsOf(model, network, this);
  }

  get store(): Store {
    return this.#parts.store;
  }

  /** Accepts requests from when the service would. */
  accept(): void {
    const begin = (): void => {
      this.isAccepting = !this.#isStopping && !this.isDead;
    };
    if (this.#parts.ready === undefined) begin();
    else {
      this.#parts.ready().then(begin, begin);
      this.after(START_UP, begin);
    }
  }

  /** Notes a request. The function that is returned ends it. */
  begin(fail: () => void): () => void {
    this.#open.add(fail);
    return () => {
      this.#open.delete(fail);
      this.#closeDrained();
    };
  }

  /** Answers what is in progress, and gives back what it has. */
  stop(): void {
    this.isAccepting = false;
    this.#isStopping = true;
    this.#closeDrained();
  }

  kill(): void {
    this.isAccepting = false;
    this.isDead = true;
    for (const fail of [...this.#open]) fail();
  }

  #closeDrained(): void {
    if (!this.#isStopping || this.#isClosing || this.#open.size > 0) return;
    const end = (): void => {
      this.isDead = true;
    };
    this.#isClosing = true;
    if (this.#parts.close === undefined) end();
    else this.#parts.close().then(end, end);
  }
}

function partsOf(model: ClusterModel, network: SimulatedNetwork, node: SimulatedNode): NodeStore {
  const { clock } = node;
  if (model.consistency === "split") {
    const store = split(network.client(node), { group: "nodes", clock });
    return { store, ready: () => store.ready(), close: () => store.close() };
  }
  const link = network.link(node);
  if (model.consistency === "strict") return { store: link };
  const nodes = model.nodes + model.starts.length;
  const store = model.consistency === "cached" ? cached(link, { clock }) : leased(link, { clock, nodes });
  return { store, close: () => store.close() };
}
