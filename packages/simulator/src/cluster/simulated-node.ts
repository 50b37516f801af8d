import {
  type Clock,
  cached,
  type Limit,
  leased,
  limitFromSpec,
  MemoryStore,
  type Operation,
  type Rule,
  type Store,
} from "headgate";
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

  constructor(time: VirtualTime, network: SimulatedNetwork, model: ClusterModel, rank: number) {
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
    this.store = storeOf(model, network.link(this), this.clock, rank);
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

function storeOf({ consistency, nodes }: ClusterModel, link: Store, clock: Clock, rank: number): Store {
  if (consistency === "cached") return cached(link, { clock });
  if (consistency === "leased") return leased(link, { clock, nodes });
  return consistency === "split" ? new ShareOfLimit(clock, rank, nodes) : link;
}

/** What `split` enforces while the number of nodes does not change: an equal share of each limit, in memory. */
class ShareOfLimit implements Store {
  readonly #memory: MemoryStore;
  readonly #rank: number;
  readonly #nodes: number;
  readonly #shares = new Map<Limit, Limit | undefined>();

  constructor(clock: Clock, rank: number, nodes: number) {
    this.#memory = new MemoryStore({ clock });
    this.#rank = rank;
    this.#nodes = nodes;
  }

  apply(...[action, operations]: Parameters<Store["apply"]>): ReturnType<Store["apply"]> {
    return operations.map((operation) => this.#apply(action, operation));
  }

  #apply(action: Parameters<Store["apply"]>[0], operation: Operation) {
    const limit = this.#shareOf(operation.rule);
    const time = this.#memory.clock.now();
    // With more nodes than units, some have none.
    const none = { time, allowed: false, remaining: 0, retryAfter: Number.POSITIVE_INFINITY, resetAfter: 0 } as const;
    if (limit === undefined) return { ...none, source: "lease", degraded: false } as const;
    return this.#memory.apply(action, [{ ...operation, rule: { ...operation.rule, limit } }])[0];
  }

  #shareOf({ limit }: Rule): Limit | undefined {
    if (!this.#shares.has(limit)) {
      const [units, burst] = [limit.limit, limit.burst].map((all) => unitsOf(all, this.#rank, this.#nodes));
      const { algorithm, window } = limit;
      const spec = { algorithm, limit: units, window: window / 1_000_000 };
      const share = limit.burst === limit.limit ? spec : { ...spec, burst };
      this.#shares.set(limit, units === 0 || burst === 0 ? undefined : limitFromSpec(share));
    }
    return this.#shares.get(limit);
  }
}

/** Rank r of n has the units r, r + n, r + 2n and so on. */
function unitsOf(all: number, rank: number, nodes: number): number {
  return Math.floor(all / nodes) + (rank < all % nodes ? 1 : 0);
}
