import type { Clock } from "../clock/clock.ts";
import { SystemClock } from "../clock/system-clock.ts";
import type { Notices } from "../middleware/notices.ts";
import type { Store } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import type { ReservationJournal } from "./journal.ts";
import { type ReservedOperation, writeRecord } from "./journal-record.ts";
import { release } from "./release-abandoned.ts";
import { Reservation } from "./reservation.ts";

/** Maximum interval between searches for abandoned reservations, in milliseconds, and how many to fetch at a time. */
const LOOK_EVERY = 5_000;
const MOST_AT_ONCE = 100;
const MOST_ENDED = 10_000;
/** How many times a reservation is extended before it would expire. */
const BEATS = 4;

export interface ReservationKeeperOptions {
  /** How long a reservation outlives its process, in milliseconds. */
  readonly forMs: number;
  readonly notices: Notices;
  /** Clock to sleep by. Default: timers that do not keep the process alive. */
  readonly clock?: Clock | undefined;
  /** The store's clock. */
  readonly now: () => number;
}

/**
 * Extends the reservations of one limiter while their requests run, and releases those of processes that have died. No
 * request waits for the journal: an entry is sent ahead of the charge that follows it, and if the journal fails, all
 * that is lost is the clean-up of that one reservation.
 */
export class ReservationKeeper {
  private readonly store: Store;
  private readonly journal: ReservationJournal;
  private readonly options: ReservationKeeperOptions;
  private readonly open = new Map<string, Reservation>();
  /** Tasks to retry because the store failed. */
  private readonly undone = new Set<() => Promise<void>>();
  /** Reservations that have ended but could not be removed from the journal. */
  private readonly ended = new Set<string>();

  constructor(store: Store, journal: ReservationJournal, options: ReservationKeeperOptions) {
    this.store = store;
    this.journal = journal;
    this.options = options;
    void this.run();
  }

  /** Records what a request is about to take. */
  reserve(operations: readonly ReservedOperation[]): Reservation {
    const { forMs, now } = this.options;
    const reservation = new Reservation(this.store, operations, now);
    this.open.set(reservation.id, reservation);
    void this.quietly(() => this.journal.add({ id: reservation.id, text: writeRecord(reservation) }, forMs));
    return reservation;
  }

  /** Abandons a reservation that may or may not have been charged. The process that releases it will find out. */
  leave({ id }: Reservation): void {
    this.open.delete(id);
  }

  /** Removes a reservation that has ended or was denied. */
  drop({ id }: Reservation): void {
    this.open.delete(id);
    void this.remove([id]);
  }

  /** Runs the task that ends a reservation. If the store fails, retries it with each heartbeat until it succeeds. */
  async finish(reservation: Reservation, task: () => Promise<void>): Promise<void> {
    const finish = async (): Promise<void> => {
      await task();
      this.drop(reservation);
    };
    try {
      await finish();
    } catch (error) {
      if (failureOf(error) === undefined) throw error;
      this.undone.add(finish);
    }
  }

  private async run(): Promise<void> {
    const { forMs, clock } = this.options;
    const everyMs = Math.min(LOOK_EVERY, forMs / BEATS);
    while (!this.journal.isClosed) {
      // The timers of SystemClock would keep the process alive.
      await (clock === undefined || clock instanceof SystemClock ? quietSleep(everyMs) : clock.sleep(everyMs));
      await this.quietly(() => this.extendOpen());
      await this.finishUndone();
      const ended = [...this.ended];
      this.ended.clear();
      if (ended.length > 0) await this.remove(ended);
      await this.quietly(() => this.releaseOverdue());
    }
  }

  /** Extends open reservations. Those that no longer exist were released, or never arrived. */
  private async extendOpen(): Promise<void> {
    if (this.open.size === 0) return;
    const { forMs, now } = this.options;
    const sureAt = now();
    const asked = [...this.open.keys()];
    const there = new Set(await this.journal.extend(asked, forMs));
    for (const id of asked) {
      const reservation = this.open.get(id);
      if (!there.has(id)) this.open.delete(id);
      else if (reservation !== undefined) reservation.sureAt = sureAt;
    }
  }

  private async finishUndone(): Promise<void> {
    for (const finish of this.undone) {
      try {
        await finish();
        this.undone.delete(finish);
      } catch (error) {
        if (failureOf(error) === undefined) this.undone.delete(finish);
        return;
      }
    }
  }

  private async remove(ids: readonly string[]): Promise<void> {
    await this.quietly(async () => {
      try {
        await this.journal.remove(ids);
      } catch (error) {
        // One that stays does no harm: the process that releases it finds that it has ended.
        if (this.ended.size < MOST_ENDED) for (const id of ids) this.ended.add(id);
        throw error;
      }
    });
  }

  private async releaseOverdue(): Promise<void> {
    for (;;) {
      const overdue = await this.journal.overdue(MOST_AT_ONCE);
      const released: string[] = [];
      for (const entry of overdue) {
        if (await release(this.store, entry, this.options.now())) released.push(entry.id);
      }
      if (released.length > 0) await this.journal.remove(released);
      if (released.length < MOST_AT_ONCE) return;
    }
  }

  /** Failures of the journal are reported, but do not fail the request. */
  private async quietly(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (!this.journal.isClosed)
        this.options.notices.give("HG_JOURNAL_FAILED", "the journal of reservations failed", error);
    }
  }
}

function quietSleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
