import { type Action, type Answer, type ApplyOptions, HeadgateError, type Operation, type Store } from "headgate";
import type { MaybePromise } from "headgate/http";
import { GroupedStore } from "./grouped-store.ts";

type Answers = readonly Answer[];

/** How often units are given back if the store does not answer, and the pause between the attempts. */
const UNDO_ATTEMPTS = 5;
const UNDO_PAUSE_MS = 100;

/**
 * Decides a request that has several keys. A store that cannot charge them in one step, such as a Redis Cluster, charges
 * one key after the other, and gets back what was taken if a later one denies: it never admits too much, but while
 * units are on their way back, another request may be denied for lack of them.
 */
export class AcrossKeys implements Store {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<Answers> {
    try {
      return await this.#store.apply(action, operations, options);
    } catch (error) {
      if (!(error instanceof HeadgateError) || error.code !== "HG_KEYS_APART") throw error;
      return action === "take" ? this.#takeInTurns(operations, options) : this.#byKey(action, operations, options);
    }
  }

  #byKey(action: Action, operations: readonly Operation[], options?: ApplyOptions): MaybePromise<Answers> {
    const groups = operations.map(({ key }) => ({ name: "", key, store: this.#store }));
    return new GroupedStore(groups).apply(action, operations, options);
  }

  async #takeInTurns(operations: readonly Operation[], options: ApplyOptions | undefined): Promise<Answers> {
    // Each key remembers it by itself, so that a retry finds out what was taken.
    const once = { ...options, idempotencyKey: options?.idempotencyKey ?? crypto.randomUUID() };
    const answers = new Map<Operation, Answer>();
    const taken: Operation[][] = [];
    let isDenied = false;
    try {
      for (const group of groupsOf(operations)) {
        const given = isDenied ? await this.#store.apply("peek", group) : await this.#store.apply("take", group, once);
        for (const [i, operation] of group.entries()) answers.set(operation, given[i]);
        if (!isDenied && given.every(({ allowed }) => allowed)) taken.push(group);
        else isDenied = true;
      }
    } catch (error) {
      await this.#undo(taken, answers, once);
      throw error;
    }
    if (isDenied) await this.#undo(taken, answers, once);
    return operations.map((operation) => answerTo(operation, answers));
  }

  /** Gives back what was taken, and notes what is left then. */
  async #undo(
    taken: readonly Operation[][],
    answers: Map<Operation, Answer>,
    { idempotencyKey, context }: ApplyOptions & { readonly idempotencyKey: string },
  ): Promise<void> {
    await Promise.all(
      taken.map(async (group) => {
        const given = group.map((operation) => answerTo(operation, answers));
        // A fallback decided: nothing was taken from the store.
        if (given.some(({ degraded }) => degraded)) return;
        // Units of a window that has ended are not given back into the next one.
        const voidFrom = Math.min(...given.map(({ time, resetAfter }) => time + resetAfter));
        const options = {
          idempotencyKey: `${idempotencyKey} undo`,
          voidFrom,
          storeOnly: true,
          ...(context !== undefined && { context }),
        };
        const left = await this.#refund(group, options);
        for (const [i, operation] of group.entries()) {
          const { remaining, resetAfter } = left?.[i] ?? given[i];
          answers.set(operation, { ...given[i], remaining, resetAfter });
        }
      }),
    );
  }

  /** Undefined if the store did not answer, or the units no longer count. */
  async #refund(operations: readonly Operation[], options: ApplyOptions): Promise<Answers | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#store.apply("refund", operations, options);
      } catch (error) {
        if (!(error instanceof HeadgateError)) throw error;
        if (attempt === UNDO_ATTEMPTS) return undefined;
      }
      await new Promise((resolve) => setTimeout(resolve, UNDO_PAUSE_MS));
    }
  }
}

function groupsOf(operations: readonly Operation[]): Operation[][] {
  const groups = new Map<string, Operation[]>();
  for (const operation of operations) {
    const group = groups.get(operation.key);
    if (group === undefined) groups.set(operation.key, [operation]);
    else group.push(operation);
  }
  return [...groups.values()];
}

function answerTo(operation: Operation, answers: ReadonlyMap<Operation, Answer>): Answer {
  const answer = answers.get(operation);
  if (answer === undefined) throw new Error("a store must answer every operation");
  return answer;
}
