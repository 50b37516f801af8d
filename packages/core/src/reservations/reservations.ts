import type { Clock } from "../clock/clock.ts";
import { SystemClock } from "../clock/system-clock.ts";
import { HeadgateError, shown } from "../errors.ts";
import type { Verdict } from "../limiter/verdict.ts";
import { type Notices, processNotices } from "../middleware/notices.ts";
import { counterOf, type Operation, type Store } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import { catchUp, isSettledBefore } from "./clean-up.ts";
import type { EntryStep } from "./journal.ts";
import { KeepAlive } from "./keep-alive.ts";
import { type ListedReservation, listJournal, listOpen } from "./listed-reservations.ts";
import { lostReservation, OpenReservation } from "./open-reservation.ts";
import { Reservation } from "./reservation.ts";
import { ReservationLookup, unknownReservation } from "./reservation-lookup.ts";
import { ReservationState } from "./reservation-state.ts";
import { adjust, chargeLate, end, releaseSlots, settledBefore, take } from "./reservation-steps.ts";
import { ReserveOnce } from "./reserve-once.ts";
import { DEFAULT_FOR_MS, type InternalReserveOptions, readReserveOptions, requireFitting } from "./reserve-options.ts";
import { ReservedQuota } from "./reserved-quota.ts";
import { WaitingReservations } from "./waiting-reservations.ts";

/** Options of `Reservations`. */
export interface ReservationsOptions {
  /** Clock for waiting and for extending reservations. Default: the system clock. */
  readonly clock?: Clock | undefined;
  readonly notices?: Notices | undefined;
}

/** What the middleware has reserved: costs that are settled, and slots that are returned at the end of the request. */
export interface ReservedApart<Name extends string> {
  readonly verdict: Verdict<Name>;
  readonly costs: Reservation<Name> | undefined;
  readonly slots: Reservation<Name> | undefined;
}

/**
 * Reservations on a store. Extends those of this process while it lives, and ends those of processes that have died. A
 * limiter has one; programs that call a store directly can have their own.
 */
export class Reservations {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #notices: Notices;
  readonly #keepAlive: KeepAlive;
  readonly #waiting: WaitingReservations;
  readonly #lookup: ReservationLookup;
  readonly #once: ReserveOnce;

  constructor(store: Store, { clock = new SystemClock(), notices = processNotices }: ReservationsOptions = {}) {
    this.#store = store;
    this.#clock = clock;
    this.#notices = notices;
    this.#waiting = new WaitingReservations(store, clock);
    this.#lookup = new ReservationLookup(store, () => this.#now());
    this.#once = new ReserveOnce(store, () => this.#now());
    this.#keepAlive = new KeepAlive(store, clock, notices, {
      finish: (open) => this.#finish(open),
      released: (open, verdict) => this.#slotsReleased(open, verdict),
    });
  }

  /** Reservations of this process, the age of the oldest, and how many of dead processes it has ended. */
  get stats(): { readonly open: number; readonly oldestMs: number; readonly cleanedUp: number } {
    const { open, cleanedUp } = this.#keepAlive;
    const { oldest } = open;
    const now = this.#now();
    return { open: open.size, oldestMs: oldest === undefined ? 0 : (now - oldest.madeAt) / 1000, cleanedUp };
  }

  /** Reserves quota under all operations or, if one of them is denied, under none. */
  async reserve<Name extends string>(
    operations: readonly Operation<Name>[],
    options: InternalReserveOptions = {},
  ): Promise<Reservation<Name>> {
    const { signal } = readReserveOptions(options);
    const { once } = options;
    // Of one task, the cost is an option of its own.
    requireFitting(operations, options.isPrivate ? () => "cost" : undefined);
    signal?.throwIfAborted();
    const open = await (once === undefined
      ? this.#inTime(operations, options)
      : this.#once.reserve(operations, once, (id) => this.#inTime(operations, options, id)));
    const reservation = new Reservation(open, this);
    // A client that has gone may ask again under its idempotency key, and expects what was reserved.
    if (signal?.aborted && open.verdict.allowed && once === undefined) await this.#giveBack(open);
    signal?.throwIfAborted();
    return reservation;
  }

  /**
   * Reserves all or nothing, like `reserve`, for requests that settle their costs before they return their slots. Costs
   * that are not estimates are not part of either reservation.
   */
  async reserveApart<Name extends string>(
    operations: readonly Operation<Name>[],
    { forMs = DEFAULT_FOR_MS, final }: InternalReserveOptions,
  ): Promise<ReservedApart<Name>> {
    const open = await this.#attempt(operations, { forMs, final, isPrivate: true });
    const { state, verdict, kind, sureAt } = open;
    if (!verdict.allowed) return { verdict, costs: undefined, slots: undefined };
    this.#keepAlive.forget(open);
    const part = (isApart: boolean, quotas: readonly ReservedQuota<Name>[]): Reservation<Name> | undefined => {
      if (quotas.length === 0) return undefined;
      const { id, isAtomic } = state;
      const taken = { isTaken: true, isAtomic, madeAt: sureAt };
      const own = Object.assign(new ReservationState(id, forMs, quotas), taken);
      const isJournalled = kind.isJournalled && !isApart;
      const made = new OpenReservation(own, verdict, { ...kind, isApart, isJournalled }, sureAt);
      this.#keepAlive.add(made);
      return new Reservation(made, this);
    };
    const estimates = state.quotas.filter(({ isSlots, isFinal }) => !isSlots && !isFinal);
    const rates = estimates.length === 0 ? [] : state.quotas.filter(({ isSlots }) => !isSlots);
    return {
      verdict,
      costs: part(false, rates),
      slots: part(
        true,
        state.quotas.filter(({ isSlots }) => isSlots),
      ),
    };
  }

  /**
   * The reservation with this id, made by this or another process. With `key`, only if it has a check of this key; with
   * `isOwner`, only if that accepts its owner. Rejects with HG_UNKNOWN_RESERVATION if there is none, or if it has expired.
   */
  async find(id: string, key?: string, isOwner?: (owner: string | undefined) => boolean): Promise<Reservation> {
    if (typeof id !== "string") {
      throw new HeadgateError("HG_UNKNOWN_RESERVATION", "id", `must be the id of a reservation, got ${shown(id)}`);
    }
    const open = this.#keepAlive.open.get(id) ?? this.#keepAlive.recent.get(id) ?? (await this.#lookup.find(id));
    const isFor = key === undefined || open?.state.quotas.some(({ operation }) => operation.key === key);
    if (open === undefined || !isFor || isOwner?.(open.state.owner) === false) throw unknownReservation(id);
    return new Reservation(open, this);
  }

  /**
   * Reservations that have not ended, at most `most` of them, those that expire next first: of all processes, or of this
   * one if the store has no journal.
   */
  async list(most: number): Promise<readonly ListedReservation[]> {
    const { journal } = this.#store;
    return journal === undefined ? listOpen(this.#keepAlive.open.values(), most) : listJournal(journal, most);
  }

  /** Quota of a key may have been returned: reservations that wait for it ask again. */
  wake(counter: string, key?: string): void {
    this.#waiting.wake(counter, key);
  }

  /** Stops extending and cleaning up. */
  close(): void {
    this.#keepAlive.close();
  }

  /** For `Reservation.extend`. */
  async extend(open: OpenReservation, ms: number): Promise<void> {
    const { state, kind } = open;
    // Not shorter than it lasts without, so that its deadline here is never later than the one in the store.
    const forMs = Math.max(ms, state.forMs);
    if (kind.isForeign) open.written = await this.#lookup.refresh(state);
    await this.#learnWhatWasTaken(open);
    state.longestMs = Math.max(state.longestMs, forMs);
    if (!kind.isDegraded) await this.#keepAlive.extend([open], forMs);
    open.extendedTo = Math.max(open.extendedTo, open.sureAt + forMs * 1000);
    open.throwIfLost();
  }

  /** For `Reservation.adjust`. */
  async adjust<Name extends string>(open: OpenReservation<Name>, costs: readonly number[]): Promise<Verdict<Name>> {
    const { state } = open;
    // Its process settles with what it knows to be reserved.
    if (open.kind.isForeign) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        "costs",
        "can be adjusted only by the process that made the reservation",
      );
    }
    requireFitting(
      state.quotas.map(({ operation }, i) => ({ ...operation, cost: costs[i] })),
      ({ rule }) => `costs.${rule.name}`,
    );
    if (open.isAdjusting) {
      throw new HeadgateError("HG_BAD_OPTION", "costs", "an earlier adjustment is still in progress: await it first");
    }
    if (open.kind.isDegraded) return open.verdict;
    open.isAdjusting = true;
    try {
      // One that failed may have happened.
      await adjust(this.#store, state);
      state.adjusting = costs;
      // So that the process that cleans up finds out whether it happened.
      await this.#keepAlive.extend([open]);
      open.throwIfLost();
      const verdict = await adjust(this.#store, state);
      this.#wake(open);
      return verdict ?? open.verdict;
    } finally {
      open.isAdjusting = false;
    }
  }

  /** For `Reservation.settle` and `release`: ends it with the cost of each check. */
  end<Name extends string>(open: OpenReservation<Name>, costs: readonly number[]): Promise<Verdict<Name>> {
    const { ended } = open;
    if (ended === undefined) {
      open.state.settled = costs;
      const verdict = this.#finish(open);
      open.ended = { costs, verdict };
      return verdict;
    }
    if (open.state.isAbandoned) return ended.verdict;
    if (!sameCosts(ended.costs, costs)) return Promise.reject(settledBefore(open.state.id));
    if (open.isUndone) ended.verdict = this.#finish(open);
    return ended.verdict;
  }

  /** Waits for quota if it is asked to. `sharedId`: others may ask for the same reservation, under this id. */
  async #inTime<Name extends string>(
    operations: readonly Operation<Name>[],
    options: InternalReserveOptions,
    sharedId?: string,
  ): Promise<OpenReservation<Name>> {
    const { maxWaitMs = 0, signal } = options;
    const attempt = async (forgetsDenial: boolean): Promise<OpenReservation<Name>> => {
      if (sharedId === undefined) return this.#attempt(operations, options);
      const open = await this.#once.take(operations, sharedId, options, forgetsDenial);
      if (open.verdict.allowed && !open.kind.isJournalled) this.#keepAlive.add(open);
      return open;
    };
    if (!(maxWaitMs > 0)) return attempt(false);
    const open = await this.#waiting.until(operations, () => attempt(true), maxWaitMs, signal);
    // The last denial is remembered.
    return sharedId === undefined || open.verdict.allowed ? open : attempt(false);
  }

  async #attempt<Name extends string>(
    operations: readonly Operation<Name>[],
    { forMs = DEFAULT_FOR_MS, final, isPrivate = false, isUnattended = false, owner }: InternalReserveOptions,
  ): Promise<OpenReservation<Name>> {
    const { journal } = this.#store;
    const quotas = operations.map((operation, i) => new ReservedQuota(operation, final?.[i]));
    const state = new ReservationState(journal?.newId?.() ?? crypto.randomUUID(), forMs, quotas);
    // An expired slot does not count, and a final cost stays, so they need no cleaning up.
    const isSafe = isPrivate && quotas.every(({ isSlots, isFinal }) => isSlots || isFinal);
    const isJournalled = journal !== undefined && !isSafe;
    state.isAtomic = isJournalled && journal.isAtomic === true && state.hasRates;
    const sureAt = this.#now();
    state.owner = owner;
    state.madeAt = sureAt;
    const written = isJournalled ? state.write() : "";
    if (isJournalled && !state.isAtomic) {
      const added = journal.add({ id: state.id, text: written }, forMs).catch((error: unknown) => this.#failed(error));
      if (!journal.isOrdered) await added;
    }
    const { id, isAtomic } = state;
    let verdict: Verdict<Name>;
    try {
      const entry: EntryStep | undefined = isAtomic ? { step: "add", id, text: written, forMs } : undefined;
      verdict = await take(this.#store, state, { entry });
    } catch (error) {
      // If the store failed, it is unknown whether the quota was taken: the process that cleans up finds out.
      if (isJournalled && !isAtomic && failureOf(error) === undefined) void this.#keepAlive.remove([{ id }]);
      throw error;
    }
    const kind = { isJournalled, isPrivate, isUnattended, isDegraded: verdict.degraded, isForeign: false };
    const open = new OpenReservation(state, verdict, kind, sureAt);
    open.written = written;
    // Without a journal, only this process knows it.
    if (verdict.allowed && !(isUnattended && isJournalled)) this.#keepAlive.add(open);
    if (!verdict.allowed && isJournalled && !isAtomic && !verdict.degraded) void this.#keepAlive.remove([{ id }]);
    return open;
  }

  /** Ends a reservation in the store. */
  async #finish<Name extends string>(open: OpenReservation<Name>): Promise<Verdict<Name>> {
    const { state, kind } = open;
    open.isUndone = false;
    try {
      const verdict = await (kind.isDegraded ? this.#endDegraded(open) : this.#endInStore(open));
      const recorded = this.#keepAlive.ended(open);
      this.#wake(open, verdict);
      // A caller that gets this result may look the reservation up in another process right away.
      if (open.isFindable) await recorded;
      return verdict;
    } catch (error) {
      if (failureOf(error) !== undefined) {
        this.#keepAlive.finishLater(open);
        throw error;
      }
      this.#keepAlive.endedByOthers(open);
      throw isSettledBefore(error) ? await this.#lookup.whyEnded(state.id) : error;
    }
  }

  async #endInStore<Name extends string>(open: OpenReservation<Name>): Promise<Verdict<Name>> {
    const { state, voidFrom, kind } = open;
    if (kind.isForeign) await this.#lookup.refresh(state);
    if (this.#now() >= voidFrom) throw lostReservation(state.id, "was not extended for too long to be settled");
    if (!state.isTaken || state.adjusting !== undefined) await catchUp(this.#store, state, voidFrom, open.madeAt);
    try {
      const costs = state.settled ?? state.costsUnlessSettled;
      const verdict = await end(this.#store, state, costs, voidFrom, { removesEntry: !open.isFindable });
      if (open.hasSlots && verdict.degraded) this.#keepAlive.releaseLater(open);
      return verdict;
    } catch (error) {
      if (isSettledBefore(error) && kind.isPrivate) await this.#chargeLate(open);
      throw error;
    }
  }

  /** Nothing was taken from the store, as far as is known, so nothing is given back to it. */
  async #endDegraded<Name extends string>(open: OpenReservation<Name>): Promise<Verdict<Name>> {
    if (open.hasSlots && (await releaseSlots(this.#store, open.state)).degraded) this.#keepAlive.releaseLater(open);
    return open.verdict;
  }

  /** Charges what was settled after another process had given back the estimates. */
  async #chargeLate({ state }: OpenReservation): Promise<void> {
    const { settled = [], quotas } = state;
    const operations = quotas.flatMap(({ operation, isFinal, isSlots }, i) => {
      return isFinal || isSlots || !(settled[i] > 0) ? [] : { ...operation, cost: settled[i] };
    });
    if (operations.length > 0) await chargeLate(this.#store, state, operations);
  }

  async #giveBack(open: OpenReservation): Promise<void> {
    await this.end(
      open,
      open.state.quotas.map(() => 0),
    ).catch((error: unknown) => this.#failed(error));
  }

  /**
   * The entry is written before the quota is taken. The store remembers for a limited time whether it was taken, so a
   * reservation that is extended has to find out while the store still knows.
   */
  async #learnWhatWasTaken({ state, kind, voidFrom, madeAt }: OpenReservation): Promise<void> {
    if (kind.isDegraded || state.isTaken) return;
    if ((await catchUp(this.#store, state, voidFrom, madeAt)) === undefined) throw unknownReservation(state.id);
  }

  /** Lets those that wait for what was returned ask again, also in other processes. */
  #wake(open: OpenReservation, verdict?: Verdict): void {
    const { quotas } = open.state;
    for (let i = 0; i < quotas.length; i += 1) {
      const { operation, isSlots } = quotas[i];
      const { rule, key, cost } = operation;
      this.#waiting.wake(counterOf(rule), key);
      if (isSlots && verdict !== undefined) this.#waiting.notify(counterOf(rule), key, verdict.decisions[i], cost);
    }
  }

  /** The slots of a reservation that had ended while the store failed. `verdict` has no other decisions. */
  #slotsReleased({ state }: OpenReservation, { decisions }: Verdict): void {
    const slots = state.quotas.filter(({ isSlots }) => isSlots);
    for (const [i, { operation }] of slots.entries()) {
      const { rule, key, cost } = operation;
      this.#waiting.wake(counterOf(rule), key);
      this.#waiting.notify(counterOf(rule), key, decisions[i], cost);
    }
  }

  #failed(error: unknown): void {
    if (this.#store.journal?.isClosed !== true) {
      this.#notices.give("HG_JOURNAL_FAILED", "the journal of reservations failed", error);
    }
  }

  #now(): number {
    return this.#store.clock?.now() ?? this.#clock.now();
  }
}

function sameCosts(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((cost, i) => cost === other[i]);
}

const shared = new WeakMap<Store, Map<Clock | undefined, Reservations>>();

/**
 * The reservations of a store in this process, shared by all that use it, so that they are extended together. Tests have
 * several processes in one, each with its own clock.
 */
export function reservationsOf(store: Store, clock?: Clock, notices?: Notices): Reservations {
  const own = clock instanceof SystemClock ? undefined : clock;
  let byClock = shared.get(store);
  if (byClock === undefined) {
    byClock = new Map();
    shared.set(store, byClock);
  }
  let reservations = byClock.get(own);
  if (reservations === undefined) {
    reservations = new Reservations(store, { clock: own, notices });
    byClock.set(own, reservations);
  }
  return reservations;
}
