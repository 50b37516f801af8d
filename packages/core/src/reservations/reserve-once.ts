import { IDEMPOTENCY_WINDOW } from "../stores/idempotency-fingerprint.ts";
import type { Operation, Store } from "../stores/store.ts";
import type { EntryStep } from "./journal.ts";
import { OpenReservation } from "./open-reservation.ts";
import { ReservationState } from "./reservation-state.ts";
import { take } from "./reservation-steps.ts";
import { DEFAULT_FOR_MS } from "./reserve-options.ts";
import { ReservedQuota } from "./reserved-quota.ts";

/** Reservations that are remembered without a journal: as many requests as a memory store remembers. */
const MOST = 250_000;

/** What makes a reservation safe to ask for again. */
export interface ReserveOnceKey {
  readonly idempotencyKey: string;
  /** What else identifies the request: with a different context, it is a different request. */
  readonly context: string;
}

interface ReservationTerms {
  readonly forMs?: number | undefined;
  readonly owner?: string | undefined;
}

interface Made<Name extends string> {
  /** When the idempotency key was first used, by the store's clock in microseconds. */
  readonly since: number;
  readonly open: Promise<OpenReservation<Name>>;
}

/**
 * Reservations under idempotency keys. The first request under a key is recorded in the store, and the id follows from
 * that record, so all that repeat the request, also in other processes, ask for the reservation with the same id. The
 * store takes the quota of an id once.
 */
export class ReserveOnce {
  readonly #store: Store;
  readonly #now: () => number;
  /**
   * By id: those in progress, so that a repeated request does not wait in line behind the first one; and without a
   * journal all of the last five minutes, because then only this process knows them.
   */
  readonly #made = new Map<string, Made<string>>();

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** `make` takes the quota under an id, or under a new one if the store failed: then nothing is remembered. */
  async reserve<Name extends string>(
    operations: readonly Operation<Name>[],
    key: ReserveOnceKey,
    make: (id: string | undefined) => Promise<OpenReservation<Name>>,
  ): Promise<OpenReservation<Name>> {
    const first = await this.#firstUse(operations, key);
    if (first === undefined) return make(undefined);
    const { id, since } = first;
    for (let earlier = this.#made.get(id); earlier !== undefined; earlier = this.#made.get(id)) {
      const open = (await earlier.open.catch(() => undefined)) as OpenReservation<Name> | undefined;
      if (open !== undefined) return asAnswered(open);
    }
    const open = make(id);
    this.#remember(id, { since, open });
    try {
      const made = await open;
      if (this.#store.journal !== undefined || made.kind.isDegraded) this.#made.delete(id);
      return made;
    } catch (error) {
      this.#made.delete(id);
      throw error;
    }
  }

  /**
   * Takes the quota of a reservation that others may ask for at the same time, once. The journal has an entry only if it
   * was taken. If the journal cannot be written in the same step, it is written afterwards, also by those that repeat the
   * request: an entry of a denied attempt could not be removed, because another attempt may be allowed.
   */
  async take<Name extends string>(
    operations: readonly Operation<Name>[],
    id: string,
    { forMs = DEFAULT_FOR_MS, owner }: ReservationTerms,
    forgetsDenial: boolean,
  ): Promise<OpenReservation<Name>> {
    const { journal } = this.#store;
    const isJournalled = journal !== undefined;
    const quotas = operations.map((operation) => new ReservedQuota(operation));
    const state = new ReservationState(id, forMs, quotas);
    Object.assign(state, { owner, isAtomic: isJournalled, madeAt: this.#now() });
    const entry: EntryStep | undefined =
      journal?.isAtomic === true ? { step: "add", id, text: state.write(), forMs, isRemembered: true } : undefined;
    const verdict = await take(this.#store, state, { entry, isRepeatable: true, forgetsDenial });
    // All that repeat the request report the same deadline.
    const madeAt = Math.round(verdict.timeMs * 1000);
    state.madeAt = madeAt;
    const { allowed, degraded } = verdict;
    if (entry === undefined && allowed && !degraded) await journal?.restore({ id, text: state.write() }, forMs);
    const kind = { isJournalled, isPrivate: false, isUnattended: true, isDegraded: degraded, isForeign: false };
    return new OpenReservation(state, verdict, kind, madeAt);
  }

  /** The id for a request: repeated, the answers have the time at which the key was first used. */
  async #firstUse(
    operations: readonly Operation[],
    { idempotencyKey, context }: ReserveOnceKey,
  ): Promise<{ readonly id: string; readonly since: number } | undefined> {
    const answers = await this.#store.apply("peek", operations, { idempotencyKey, context });
    if (answers.some(({ degraded }) => degraded)) return undefined;
    const since = answers[0].time;
    return { id: await idOf(JSON.stringify([context, operations[0].key, idempotencyKey, since])), since };
  }

  #remember(id: string, made: Made<string>): void {
    const now = this.#now();
    for (const [oldest, { since }] of this.#made) {
      if (this.#made.size < MOST && now - since < IDEMPOTENCY_WINDOW) break;
      this.#made.delete(oldest);
    }
    this.#made.set(id, made);
  }
}

/** As it was when it was made, whatever has become of it. */
function asAnswered<Name extends string>({
  state,
  verdict,
  kind,
  madeAt,
}: OpenReservation<Name>): OpenReservation<Name> {
  return new OpenReservation(state, verdict, kind, madeAt);
}

/** In the form of a UUID. */
async function idOf(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const hex = Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
