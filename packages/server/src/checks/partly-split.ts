import type { Action, Answer, ApplyOptions, Operation, Store } from "headgate";
import { after, type MaybePromise } from "headgate/http";

type Answers = readonly Answer[];

/**
 * Decides a request of which some limits are split among the nodes and others are not. The share of this node is
 * charged first, and is returned if the store denies.
 */
export class PartlySplit implements Store {
  readonly #split: Store;
  readonly #strict: Store;
  /** Whether each operation is split. */
  readonly #isSplit: readonly boolean[];

  constructor(split: Store, strict: Store, isSplit: readonly boolean[]) {
    this.#split = split;
    this.#strict = strict;
    this.#isSplit = isSplit;
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): MaybePromise<Answers> {
    const here = operations.filter((_, i) => this.#isSplit[i]);
    const there = operations.filter((_, i) => !this.#isSplit[i]);
    return after(this.#split.apply(action, here, options), (ofSplit) => {
      // A denied request charges nothing.
      const isOver = action === "take" && !admitted(ofSplit);
      const ofStore = isOver ? this.#strict.apply("peek", there) : this.#strict.apply(action, there, options);
      return after(ofStore, (ofStore) =>
        after(action === "take" && !isOver && !admitted(ofStore) ? this.#refund(here, options) : undefined, () =>
          this.#inOrder(ofSplit, ofStore),
        ),
      );
    });
  }

  /** A retry with the same idempotency key is charged once, and refunded once. */
  #refund(operations: readonly Operation[], options: ApplyOptions | undefined): MaybePromise<Answers> {
    const { idempotencyKey, ...rest } = options ?? {};
    if (idempotencyKey === undefined) return this.#split.apply("refund", operations, options);
    return this.#split.apply("refund", operations, { ...rest, idempotencyKey: `${idempotencyKey} refund` });
  }

  #inOrder(ofSplit: Answers, ofStore: Answers): Answers {
    const here = ofSplit.values();
    const there = ofStore.values();
    return this.#isSplit.map((isSplit) => {
      const { value } = (isSplit ? here : there).next();
      if (value === undefined) throw new Error("a store must answer every operation");
      return value;
    });
  }
}

function admitted(answers: Answers): boolean {
  return answers.every(({ allowed }) => allowed);
}
