import {
  type Action,
  type Answer,
  type ApplyOptions,
  type Clock,
  HeadgateError,
  type MemoryStore,
  type Operation,
  type ResilientStore,
  resilient,
  type Store,
} from "headgate";
import { type WorkerMesh, workerName } from "./worker-mesh.ts";
import { ownerOf } from "./worker-place.ts";

/**
 * Counters in the memory of several workers: each key is counted by one of them, its owner, so that counts are exact.
 * Calls for keys of this worker are answered at once; others are sent to the owner. If the owner does not answer, each
 * rule's `on_error` decides.
 */
export class OwnedMemory implements Store {
  readonly clock: Clock;
  readonly nodes: NonNullable<Store["nodes"]>;
  readonly remote: ResilientStore;
  readonly #memory: MemoryStore;
  readonly #index: number;
  readonly #count: number;

  constructor(memory: MemoryStore, mesh: WorkerMesh, options: Parameters<typeof resilient>[1]) {
    const { index, count } = mesh.place;
    const names = Array.from({ length: count }, (_, i) => workerName(i));
    this.clock = memory.clock;
    this.nodes = { of: (key) => names[ownerOf(key, count)], all: () => names };
    this.#memory = memory;
    this.#index = index;
    this.#count = count;
    const owners: Store = {
      clock: memory.clock,
      nodes: this.nodes,
      apply: (action, operations, options) => mesh.link(this.#ownerOf(operations)).apply(action, operations, options),
    };
    this.remote = resilient(owners, { ...options, nodes: count });
  }

  apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]> {
    if (action === "extend" && operations.length > 1) return this.#extendEach(operations, options);
    const store = this.#ownerOf(operations) === this.#index ? this.#memory : this.remote;
    return store.apply(action, operations, options);
  }

  /** Slots are extended independently of each other, so their keys may have different owners. */
  async #extendEach(operations: readonly Operation[], options: ApplyOptions | undefined): Promise<readonly Answer[]> {
    const answers = await Promise.all(operations.map((operation) => this.apply("extend", [operation], options)));
    return answers.flat();
  }

  #ownerOf(operations: readonly Operation[]): number {
    const [{ key }] = operations;
    for (const operation of operations) {
      if (operation.key === key) continue;
      throw new HeadgateError("HG_KEYS_APART", "operations", "must all have the same key, which one worker counts");
    }
    return ownerOf(key, this.#count);
  }
}
