import { processNotices } from "../middleware/notices.ts";
import type { Answer, ApplyOptions, Operation, Store } from "../stores/store.ts";
import { ReservationState } from "./reservation-state.ts";
import { end, once, REMEMBERED } from "./reservation-steps.ts";
import { ReservedQuota } from "./reserved-quota.ts";

/** How long all takes of a request may take. After that, the process that cleans up gives back what was taken. */
const PENDING_MS = 5_000;
/** How long to wait at least until the takes are confirmed. */
const CONFIRM_MS = 1_000;

/**
 * The takes of a request whose keys a store cannot charge in one step. Until they are confirmed, each is a reservation in
 * the journal of which nothing is spent. So if this process dies between two takes, another one gives back what was taken.
 */
export class PendingTakes {
  readonly #store: Store;
  readonly #states: readonly ReservationState[];
  readonly #waitMs: number;
  readonly #startedAt = performance.now();

  private constructor(store: Store, states: readonly ReservationState[], waitMs: number) {
    this.#store = store;
    this.#states = states;
    this.#waitMs = waitMs;
  }

  /**
   * Announces a take for each group of operations. Returns undefined if the store has no journal, or if the journal does
   * not answer within `waitMs`. In that case, what was taken is not given back if this process dies, and a notice is given.
   */
  static async begin(
    store: Store,
    groups: readonly (readonly Operation[])[],
    waitMs: number,
    notices = processNotices,
  ): Promise<PendingTakes | undefined> {
    const { journal } = store;
    if (journal === undefined) return undefined;
    // Made in one turn of the event loop, all of them are in one part of the journal, which is written in one step.
    const states = groups.map((operations) => {
      const quotas = operations.map((operation) => new ReservedQuota(operation));
      const state = new ReservationState(journal.newId?.() ?? crypto.randomUUID(), PENDING_MS, quotas);
      return Object.assign(state, { isPending: true, madeAt: store.clock?.now() ?? 0 });
    });
    const takes = new PendingTakes(store, states, waitMs);
    const added = states.map((state) => journal.add({ id: state.id, text: state.write() }, PENDING_MS));
    if (await isDoneWithin(Promise.all(added), waitMs)) return takes;
    notices.give("HG_JOURNAL_FAILED", "the journal of reservations did not answer in time");
    return undefined;
  }

  /** Takes the units of a group, under an idempotency key that the process that cleans up knows. */
  async take(group: number, options: Pick<ApplyOptions, "answerWithin"> = {}): Promise<readonly Answer[]> {
    const state = this.#states[group];
    const operations = state.quotas.map(({ operation }) => operation);
    const answers = await this.#store.apply("take", operations, { ...once(this.#store, state, ""), ...options });
    if (answers.some(({ allowed, degraded }) => !allowed || degraded)) return answers;
    state.isTaken = true;
    for (const [i, quota] of state.quotas.entries()) quota.taken(quota.cost, answers[i].time);
    return answers;
  }

  /** Gives back what was taken for a group, and returns what is left then. */
  async giveBack(group: number): Promise<readonly Pick<Answer, "remaining" | "resetAfter">[]> {
    const state = this.#states[group];
    const voidFrom = state.madeAt + PENDING_MS * 1000 + REMEMBERED;
    const nothing = state.quotas.map(() => 0);
    const { decisions } = await end(this.#store, state, nothing, voidFrom);
    return decisions.map(({ remaining, resetAfterMs }) => ({ remaining, resetAfter: Math.round(resetAfterMs * 1000) }));
  }

  /** Forgets groups of which nothing is taken any more. If that fails, the process that cleans up finds nothing to do. */
  forget(groups: readonly number[]): void {
    const entries = groups.map((group) => ({ id: this.#states[group].id }));
    this.#store.journal?.end(entries, 0).catch(() => {});
  }

  /**
   * Keeps what was taken. Returns false if the journal did not answer, or too late: then it may be given back, and
   * everything has to be.
   */
  async confirm(): Promise<boolean> {
    const entries = this.#states.map(({ id }) => ({ id }));
    const removed = this.#store.journal?.end(entries, 0) ?? Promise.resolve();
    const isRemoved = await isDoneWithin(removed, Math.max(this.#waitMs, CONFIRM_MS));
    // Only entries that were there at their deadline are given back.
    return isRemoved && performance.now() - this.#startedAt < PENDING_MS;
  }
}

/** Whether a promise is fulfilled within this many milliseconds. */
async function isDoneWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    const done = promise.then(
      () => true,
      () => false,
    );
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
