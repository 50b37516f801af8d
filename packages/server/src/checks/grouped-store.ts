import type { Action, Answer, ApplyOptions, Operation, Store } from "headgate";
import { after, all, type MaybePromise } from "headgate/http";

type Answers = readonly Answer[];

/** Where an operation belongs. Those of one store and key are one request. */
export interface Group {
  /** Names the store. */
  readonly name: string;
  readonly key: string;
  readonly store: Store;
}

/**
 * Carries out operations in groups, each of which is a request of its own: for corrections, which need not be all or
 * nothing, of limits that different stores count.
 */
export class GroupedStore implements Store {
  /** The group of each operation. */
  readonly #groups: readonly Group[];

  constructor(groups: readonly Group[]) {
    this.#groups = groups;
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): MaybePromise<Answers> {
    const places = new Map<string, number[]>();
    for (const [i, { name, key }] of this.#groups.entries()) {
      const group = `${name} ${key}`;
      places.set(group, [...(places.get(group) ?? []), i]);
    }
    const groups = [...places];
    const isOneStore = this.#groups.every(({ name }) => name === this.#groups[0].name);
    const answers = groups.map(([, own]) => {
      const { name, store } = this.#groups[own[0]];
      const part = own.map((i) => operations[i]);
      return store.apply(action, part, isOneStore ? options : ofStore(options, name));
    });
    return after(all(answers), (answers) => {
      const inOrder = new Array<Answer>(operations.length);
      for (const [g, [, own]] of groups.entries()) for (const [j, i] of own.entries()) inOrder[i] = answers[g][j];
      return inOrder;
    });
  }
}

/** Idempotency keys are separate for each key, but not for each of the stores that share a server. */
function ofStore(options: ApplyOptions | undefined, name: string): ApplyOptions | undefined {
  if (options?.idempotencyKey === undefined) return options;
  return { ...options, idempotencyKey: `${options.idempotencyKey} ${name}` };
}
