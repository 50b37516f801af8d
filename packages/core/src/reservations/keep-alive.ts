import type { Clock } from "../clock/clock.ts";
import type { Verdict } from "../limiter/verdict.ts";
import type { Notices } from "../middleware/notices.ts";
import type { Store } from "../stores/store.ts";
import { AbandonedReservations } from "./abandoned-reservations.ts";
import type { ReservationJournal } from "./journal.ts";
import { lostReservation, type OpenReservation } from "./open-reservation.ts";
import { OpenReservations } from "./open-reservations.ts";
import { ReservationState } from "./reservation-state.ts";
import { SlotWatch } from "./slot-watch.ts";
import { type Finishing, UnfinishedEnds } from "./unfinished-ends.ts";
import { WakeableSleep } from "./wakeable-sleep.ts";

/** Maximum interval between searches for abandoned reservations, in milliseconds. */
const LOOK_EVERY_MS = 2_000;
/** Maximum interval between attempts to repeat calls that did not reach the store because it failed. */
const RETRY_EVERY_MS = 500;
/** Maximum interval between extensions in milliseconds, and how many of them fit into the time of a reservation. */
const EXTEND_EVERY_MS = 10_000;
const BEATS = 4;
/** Slots extended in one call. */
const MOST_SLOTS = 1_000;
/** How long the journal keeps what has ended, so that other processes can repeat a settlement. */
const KEPT_MS = 300_000;
/** How many ended reservations are remembered without a journal. */
const MOST_RECENT = 10_000;
/** Entries that could not be removed from the journal and are tried again. */
const MOST_TO_REMOVE = 10_000;

type Ended = { readonly id: string; readonly text?: string | undefined };

/** Extends the reservations of this process while it lives, and ends those of processes that have died. */
export class KeepAlive {
  readonly open = new OpenReservations();
  /** Reservations that have ended, for stores without a journal. */
  readonly recent = new Map<string, OpenReservation>();
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly notices: Notices;
  private readonly finish: (open: OpenReservation) => Promise<Verdict>;
  private readonly abandoned: AbandonedReservations;
  private readonly unfinished: UnfinishedEnds;
  /** Reservations that expired because their client did not extend them. */
  private expired = 0;
  private isRetrying = false;
  private readonly unremoved = new Map<string, Ended>();
  private lookedAt = Number.NEGATIVE_INFINITY;
  private isRunning = false;
  /** The sleep between two rounds. */
  private readonly pause: WakeableSleep;
  private readonly slotWatch: SlotWatch;
  private isClosed = false;

  constructor(store: Store, clock: Clock, notices: Notices, finishing: Omit<Finishing, "now">) {
    this.store = store;
    this.clock = clock;
    this.notices = notices;
    this.finish = finishing.finish;
    this.pause = new WakeableSleep(clock);
    this.slotWatch = new SlotWatch(this.open, clock, () => this.now());
    this.abandoned = new AbandonedReservations(store, () => this.now());
    this.unfinished = new UnfinishedEnds(store, { ...finishing, now: () => this.now() });
    if (store.journal !== undefined) void this.run();
  }

  /** How many reservations this process has ended because they had expired. */
  get cleanedUp(): number {
    return this.abandoned.cleanedUp + this.expired;
  }

  add(open: OpenReservation): void {
    this.open.add(open);
    if (open.hasSlots) this.slotWatch.add(open);
    if (!this.isRunning) void this.run();
    else if (open.state.forMs / BEATS < this.pause.ms) this.pause.wake();
  }

  /** Stops extending a reservation, whose parts are extended instead. */
  forget(open: OpenReservation): void {
    this.open.delete(open.name);
  }

  /** Ends a reservation when the store is back. */
  finishLater(open: OpenReservation): void {
    this.unfinished.addEnd(open);
    this.retrySoon();
  }

  /** Releases the slots of a reservation that has ended when the store is back. Until then, only the fallback knows. */
  releaseLater(open: OpenReservation): void {
    this.unfinished.addSlots(open);
    this.retrySoon();
  }

  /** Forgets a reservation that this process has ended. Resolves when the journal knows, or has failed. */
  ended(open: OpenReservation): Promise<void> | undefined {
    const { state, kind } = open;
    this.endedByOthers(open);
    if (kind.isJournalled && !kind.isDegraded) {
      const text = open.isFindable ? state.write() : undefined;
      if (text !== undefined || !state.isEntryRemoved) return this.remove([{ id: state.id, text }]);
    } else if (this.store.journal === undefined) {
      this.recent.set(open.name, open);
      if (this.recent.size > MOST_RECENT) for (const [oldest] of this.recent) return void this.recent.delete(oldest);
    }
    return undefined;
  }

  /** Forgets a reservation that another process has ended, and records. */
  endedByOthers(open: OpenReservation): void {
    this.open.delete(open.name);
    this.unfinished.delete(open);
  }

  /** Removes entries from the journal, now or later. One that stays does no harm: the process that cleans up finds it ended. */
  async remove(entries: readonly Ended[]): Promise<void> {
    const { journal } = this.store;
    if (journal === undefined) return;
    await this.quietly(async () => {
      try {
        await journal.end(entries, KEPT_MS);
      } catch (error) {
        if (this.unremoved.size < MOST_TO_REMOVE) for (const entry of entries) this.unremoved.set(entry.id, entry);
        throw error;
      }
    });
  }

  close(): void {
    this.isClosed = true;
    this.pause.wake();
    this.slotWatch.close();
  }

  /** Extends reservations to `ms` milliseconds from now, or to their own time. Marks those that are lost. */
  async extend(all: readonly OpenReservation[], ms?: number): Promise<void> {
    const sureAt = this.now();
    const failed = new Set<OpenReservation>();
    const fail = (some: readonly OpenReservation[]) => (error: unknown) => {
      for (const open of some) failed.add(open);
      throw error;
    };
    const journalled = all.filter(({ kind }) => kind.isJournalled && !kind.isDegraded);
    const slots = all.filter(({ hasSlots, lost, ended }) => hasSlots && lost === undefined && ended === undefined);
    for (const open of all) open.triedAt = sureAt;
    const results = await Promise.allSettled([
      this.extendEntries(journalled, ms).catch(fail(journalled)),
      this.extendSlots(slots, ms).catch(fail(slots)),
    ]);
    for (const open of all) if (!failed.has(open)) open.sureAt = sureAt;
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    try {
      await this.rounds();
    } finally {
      this.isRunning = false;
    }
  }

  private async rounds(): Promise<void> {
    while (!this.isClosed && this.store.journal?.isClosed !== true) {
      if (this.store.journal === undefined && this.open.size + this.unfinished.size === 0) break;
      let pauseMs = this.unfinished.size > 0 ? RETRY_EVERY_MS : LOOK_EVERY_MS;
      for (const { state } of this.open.values()) pauseMs = Math.min(pauseMs, state.forMs / BEATS);
      await this.pause.for(pauseMs);
      await this.quietly(() => this.extendDue());
      await this.endExpired();
      this.retryUnfinished();
      const unremoved = [...this.unremoved.values()];
      this.unremoved.clear();
      if (unremoved.length > 0) void this.remove(unremoved);
      this.cleanUpOverdue();
    }
  }

  private async extendDue(): Promise<void> {
    // After the process was frozen, its slots may be in use, and what it has lost is not taken again.
    this.slotWatch.look();
    const now = this.now();
    const due = this.open.values().filter(({ state, triedAt, kind, hasSlots }) => {
      // Slots of the fallback are extended, too: otherwise it would give them to others.
      const isExtended = !kind.isUnattended && (hasSlots || !kind.isDegraded);
      return isExtended && now - triedAt >= Math.min(state.forMs / BEATS, EXTEND_EVERY_MS) * 1000;
    });
    if (due.length > 0) await this.extend(due);
  }

  /** Ends reservations that were not extended, in stores without a journal. With a journal, they are cleaned up. */
  private async endExpired(): Promise<void> {
    for (const open of this.open.values()) {
      const { state, kind, ended } = open;
      if (!kind.isUnattended || ended !== undefined || this.now() < open.deadline) continue;
      state.settled = state.costsUnlessSettled;
      state.isAbandoned = true;
      open.lose("was not extended in time");
      // Settling it later fails, and changes nothing.
      const verdict = this.finish(open).then((): Verdict => {
        throw lostReservation(state.id, "was not extended in time");
      });
      open.ended = { costs: state.settled, verdict };
      await verdict.catch(() => {});
      this.expired += 1;
    }
  }

  private async extendEntries(all: readonly OpenReservation[], ms?: number): Promise<void> {
    const { journal } = this.store;
    if (journal === undefined || all.length === 0) return;
    const texts = all.map(({ state }) => state.write());
    const states = await journal.extend(
      all.map(({ state, written: known }, i) => {
        return { id: state.id, forMs: ms ?? state.forMs, text: texts[i] === known ? undefined : texts[i], known };
      }),
    );
    const changed: OpenReservation[] = [];
    for (const [i, open] of all.entries()) {
      const { id, forMs } = open.state;
      if (states[i] === "changed") {
        changed.push(open);
        continue;
      }
      open.written = texts[i];
      if (states[i] === "missing" && this.now() < open.voidFrom)
        await journal.restore({ id, text: texts[i] }, ms ?? forMs);
      else if (states[i] !== "open" && open.ended === undefined) this.lose(open);
    }
    if (changed.length === 0) return;
    await Promise.all(changed.map((open) => takeOver(journal, open)));
    await this.extendEntries(changed, ms);
  }

  private lose(open: OpenReservation): void {
    open.lose("was ended by another process");
    this.open.delete(open.name);
  }

  private async extendSlots(all: readonly OpenReservation[], ms?: number): Promise<void> {
    const sureAt = this.now();
    const slots = all.flatMap((open) => {
      const { id, forMs, quotas } = open.state;
      return quotas.flatMap((quota) => (quota.isSlots ? { open, operation: quota.taking(id, ms ?? forMs) } : []));
    });
    for (let from = 0; from < slots.length; from += MOST_SLOTS) {
      const some = slots.slice(from, from + MOST_SLOTS);
      const answers = await this.store.apply(
        "extend",
        some.map(({ operation }) => operation),
      );
      for (const [i, { open }] of some.entries()) {
        const { allowed, degraded } = answers[i];
        if (allowed) open.slotsSureAt = sureAt;
        // While the store fails, slots that the fallback denies last until they expire.
        else if (!degraded && open.ended === undefined) open.lose("was not extended in time: others use its slots");
      }
    }
  }

  private retrySoon(): void {
    if (!this.isRunning) void this.run();
    else if (this.pause.ms > RETRY_EVERY_MS) this.pause.wake();
  }

  /** Not awaited: meanwhile, others have to be extended. */
  private retryUnfinished(): void {
    if (this.isRetrying || this.unfinished.size === 0) return;
    this.isRetrying = true;
    void this.unfinished.retry().finally(() => {
      this.isRetrying = false;
    });
  }

  /** Not awaited: after a crash, there may be thousands. */
  private cleanUpOverdue(): void {
    const now = this.clock.now();
    if (this.store.journal === undefined || now - this.lookedAt < LOOK_EVERY_MS * 900) return;
    this.lookedAt = now;
    void this.quietly(() => this.abandoned.cleanUp());
  }

  /** Failures of the journal are reported, but fail no request. */
  private async quietly(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (!this.isClosed && this.store.journal?.isClosed !== true) {
        this.notices.give("HG_JOURNAL_FAILED", "the journal of reservations failed", error);
      }
    }
  }

  private now(): number {
    return this.store.clock?.now() ?? this.clock.now();
  }
}

/** Learns what another process has written to the journal since. */
async function takeOver(journal: ReservationJournal, open: OpenReservation): Promise<void> {
  const { state, kind } = open;
  const entry = await journal.find(state.id);
  if (entry === undefined || entry.isEnded) return;
  open.written = entry.text;
  const latest = ReservationState.read(state.id, entry.text);
  if (latest === undefined) return;
  const longestMs = Math.max(state.longestMs, latest.longestMs);
  // The process that made it knows best, except for how long others have extended it.
  if (kind.isForeign && latest.isTaken) state.update(latest);
  state.longestMs = longestMs;
}
