import {
  type Action,
  type Answer,
  type ApplyOptions,
  HeadgateError,
  type Operation,
  type Store,
  StoreError,
} from "headgate";
import type { MaybePromise } from "headgate/http";
import { PendingTakes } from "headgate/store";
import { fields } from "../config/fields.ts";
import { GroupedStore } from "./grouped-store.ts";

type Answers = readonly Answer[];
type Left = readonly Pick<Answer, "remaining" | "resetAfter">[];

/** How often units are given back if the store does not answer, and the pause between the attempts. */
const UNDO_ATTEMPTS = 5;
const UNDO_PAUSE_MS = 100;

export interface AcrossKeysOptions {
  /** How long to wait for the journal, in milliseconds. Default: the default of `store_timeout`. */
  readonly journalWaitMs?: number | undefined;
  /** Whether the store itself counts, so that its journal can undo what a process that died has taken. */
  readonly isJournalled?: boolean;
}

/**
 * Decides a request that has several keys. A store that cannot charge them in one step, such as a Redis Cluster, charges
 * one key after the other, and gets back what was taken if a later one denies: it never admits too much, but while
 * units are on their way back, another request may be denied for lack of them.
 */
export class AcrossKeys implements Store {
  readonly #store: Store;
  readonly #options: AcrossKeysOptions;

  constructor(store: Store, options: AcrossKeysOptions = {}) {
    this.#store = store;
    this.#options = options;
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
    const groups = groupsOf(operations);
    const turns = await this.#turnsOf(groups, options);
    const answers = new Map<Operation, Answer>();
    const taken: number[] = [];
    let isDenied = false;
    try {
      for (const [i, group] of groups.entries()) {
        const given = isDenied ? await this.#store.apply("peek", group) : await turns.take(i);
        for (const [j, operation] of group.entries()) answers.set(operation, given[j]);
        if (!isDenied && given.every(({ allowed }) => allowed)) taken.push(i);
        else isDenied = true;
      }
    } catch (error) {
      await undo(turns, groups, taken, answers);
      throw error;
    }
    if (isDenied) await undo(turns, groups, taken, answers);
    else if (!(await turns.confirm())) {
      await undo(turns, groups, taken, answers);
      throw new StoreError(
        "HG_STORE_TIMEOUT",
        "took too long to charge all identities; what was charged is given back",
      );
    }
    return operations.map((operation) => answerTo(operation, answers));
  }

  /** A client that has sent an idempotency key repeats the request under it, which completes what was interrupted. */
  async #turnsOf(groups: readonly Operation[][], options: ApplyOptions | undefined): Promise<Turns> {
    const { isJournalled = false, journalWaitMs = fields.storeTimeoutMs.initial } = this.#options;
    if (isJournalled && options?.idempotencyKey === undefined) {
      const takes = await PendingTakes.begin(this.#store, groups, journalWaitMs);
      if (takes !== undefined) return new JournalledTurns(takes, groups.length, options);
    }
    return new RememberedTurns(this.#store, groups, options);
  }
}

/** How the groups of a request are charged one after the other. */
interface Turns {
  take(group: number): MaybePromise<Answers>;
  /** Gives back what was taken under these answers. */
  giveBack(group: number, given: Answers): MaybePromise<Left>;
  /** Called if a request is denied, when everything was given back, except for these groups. */
  undone(except: readonly number[]): void;
  /** Called if a request is allowed, before it is answered. Returns false if what was taken may be given back. */
  confirm(): Promise<boolean>;
}

/** What was taken is remembered under each key separately, so that a retry finds out. */
class RememberedTurns implements Turns {
  readonly #store: Store;
  readonly #groups: readonly Operation[][];
  readonly #options: ApplyOptions & { readonly idempotencyKey: string };

  constructor(store: Store, groups: readonly Operation[][], options: ApplyOptions | undefined) {
    this.#store = store;
    this.#groups = groups;
    this.#options = { ...options, idempotencyKey: options?.idempotencyKey ?? crypto.randomUUID() };
  }

  take(group: number): MaybePromise<Answers> {
    return this.#store.apply("take", this.#groups[group], this.#options);
  }

  giveBack(group: number, given: Answers): MaybePromise<Left> {
    const { idempotencyKey, context } = this.#options;
    // Units of a window that has ended are not given back into the next one.
    const voidFrom = Math.min(...given.map(({ time, resetAfter }) => time + resetAfter));
    return this.#store.apply("refund", this.#groups[group], {
      idempotencyKey: `${idempotencyKey} undo`,
      voidFrom,
      storeOnly: true,
      ...(context !== undefined && { context }),
    });
  }

  undone(): void {}

  async confirm(): Promise<boolean> {
    return true;
  }
}

/** The journal knows what was taken, so that another process gives it back if this one dies. */
class JournalledTurns implements Turns {
  readonly #takes: PendingTakes;
  readonly #count: number;
  readonly #options: Pick<ApplyOptions, "answerWithin">;

  constructor(takes: PendingTakes, count: number, options: ApplyOptions | undefined) {
    const { answerWithin } = options ?? {};
    this.#takes = takes;
    this.#count = count;
    this.#options = answerWithin === undefined ? {} : { answerWithin };
  }

  take(group: number): Promise<Answers> {
    return this.#takes.take(group, this.#options);
  }

  giveBack(group: number): Promise<Left> {
    return this.#takes.giveBack(group);
  }

  undone(except: readonly number[]): void {
    const all = Array.from({ length: this.#count }, (_, i) => i);
    this.#takes.forget(all.filter((group) => !except.includes(group)));
  }

  confirm(): Promise<boolean> {
    return this.#takes.confirm();
  }
}

/** Gives back what was taken, and notes what is left then. */
async function undo(
  turns: Turns,
  groups: readonly Operation[][],
  taken: readonly number[],
  answers: Map<Operation, Answer>,
): Promise<void> {
  // It is not known whether anything was taken: the journal finds out.
  const unsure: number[] = [];
  await Promise.all(
    groups.map(async (group, i) => {
      const given = group.flatMap((operation) => answers.get(operation) ?? []);
      if (given.length < group.length || given.some(({ degraded }) => degraded)) {
        // A fallback decided: as far as is known, nothing was taken from the store.
        unsure.push(i);
        return;
      }
      if (!taken.includes(i)) return;
      const left = await patiently(() => turns.giveBack(i, given));
      if (left === undefined) unsure.push(i);
      for (const [j, operation] of group.entries()) {
        const { remaining, resetAfter } = left?.[j] ?? given[j];
        answers.set(operation, { ...given[j], remaining, resetAfter });
      }
    }),
  );
  turns.undone(unsure);
}

/** Undefined if the store did not answer, or the units no longer count. */
async function patiently<Result>(attempt: () => MaybePromise<Result>): Promise<Result | undefined> {
  for (let n = 1; ; n += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof HeadgateError)) throw error;
      if (n === UNDO_ATTEMPTS) return undefined;
    }
    await new Promise((resolve) => setTimeout(resolve, UNDO_PAUSE_MS));
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
