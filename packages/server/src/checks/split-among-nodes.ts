import type { Action, Answer, ApplyOptions, Operation, Store } from "headgate";
import type { Split } from "headgate/redis";

/**
 * A `split` store that joins the other nodes when it is first needed, so that nodes without such rules send no
 * heartbeats.
 */
export class SplitAmongNodes implements Store {
  readonly #join: () => Split;
  #split: Split | undefined;

  constructor(join: () => Split) {
    this.#join = join;
  }

  /** Undefined until the node has joined. */
  get stats(): Split["stats"] | undefined {
    return this.#split?.stats;
  }

  /** Joins, and resolves when this node has its share. */
  ready(): Promise<void> {
    return this.#joined().ready();
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): readonly Answer[] {
    return this.#joined().apply(action, operations, options);
  }

  /** Returns the share. */
  async close(): Promise<void> {
    await this.#split?.close();
  }

  #joined(): Split {
    this.#split ??= this.#join();
    return this.#split;
  }
}
