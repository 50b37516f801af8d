import type { Clock } from "../clock/clock.ts";
import { SystemClock } from "../clock/system-clock.ts";
import type { Notices } from "../middleware/notices.ts";
import type { Store } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import type { ReservationJournal } from "./journal.ts";
import { type HeldOperation, writeRecord } from "./journal-record.ts";
import { release } from "./release-abandoned.ts";
import { HeldReservation } from "./reservation.ts";

/** How often a process looks for holds of the dead, at the least, in milliseconds; and for how many at a time. */
const LOOK_EVERY = 5_000;
const MOST_AT_ONCE = 100;
const MOST_ENDED = 10_000;
/** So often a hold is extended before its time is over. */
const BEATS = 4;

export interface ReservationKeeperOptions {
  /** How long a hold outlives its process, in milliseconds. */
  readonly forMs: number;
  readonly notices: Notices;
  /** What to sleep by. Default: timers that do not keep the process alive. */
  readonly clock?: Clock | undefined;
  /** The store's time. */
  readonly now: () => number;
}

/**
 * Looks after the holds of one gate as long as their requests run, and releases those of processes that are dead.
 * No request waits for the journal: what is sent to it arrives before the take that follows, and where it fails, no
 * more is lost than the release of that one hold.
 */
export class ReservationKeeper {
  private readonly store: Store;
  private readonly journal: ReservationJournal;
  private readonly options: ReservationKeeperOptions;
  private readonly open = new Map<string, HeldReservation>();
  /** What could not be done because the store failed. */
  private readonly undone = new Set<() => Promise<void>>();
  /** ReservationJournal that have ended, and that the journal could not be told of. */
  private readonly ended = new Set<string>();

  constructor(store: Store, journal: ReservationJournal, options: ReservationKeeperOptions) {
    this.store = store;
    this.journal = journal;
    this.options = options;
    void this.run();
  }

  /** Writes down what a request is about to take. */
  hold(operations: readonly HeldOperation[]): HeldReservation {
    const { forMs, now } = this.options;
    const held = new HeldReservation(this.store, operations, now);
    this.open.set(held.id, held);
    void this.quietly(() => this.journal.add({ id: held.id, text: writeRecord(held) }, forMs));
    return held;
  }

  /** Leaves a hold to itself: whether it was charged is not known, and whoever releases it will find out. */
  leave({ id }: HeldReservation): void {
    this.open.delete(id);
  }

  /** A hold that has ended, or that was refused. */
  drop({ id }: HeldReservation): void {
    this.open.delete(id);
    void this.remove([id]);
  }

  /** Does what ends a hold; if the store fails, again with each beat until it is done. */
  async finish(held: HeldReservation, task: () => Promise<void>): Promise<void> {
    const finish = async (): Promise<void> => {
      await task();
      this.drop(held);
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
      // The system's own would keep the process alive.
      await (clock === undefined || clock instanceof SystemClock ? quietSleep(everyMs) : clock.sleep(everyMs));
      await this.quietly(() => this.extendOpen());
      await this.finishUndone();
      const ended = [...this.ended];
      this.ended.clear();
      if (ended.length > 0) await this.remove(ended);
      await this.quietly(() => this.releaseOverdue());
    }
  }

  /** ReservationJournal that are not there any more were released, or never arrived. */
  private async extendOpen(): Promise<void> {
    if (this.open.size === 0) return;
    const { forMs, now } = this.options;
    const sureAt = now();
    const asked = [...this.open.keys()];
    const there = new Set(await this.journal.extend(asked, forMs));
    for (const id of asked) {
      const held = this.open.get(id);
      if (!there.has(id)) this.open.delete(id);
      else if (held !== undefined) held.sureAt = sureAt;
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
        // One that stays there does no harm: whoever releases it finds that it has ended.
        if (this.ended.size < MOST_ENDED) for (const id of ids) this.ended.add(id);
        throw error;
      }
    });
  }

  private async releaseOverdue(): Promise<void> {
    for (;;) {
      const overdue = await this.journal.overdue(MOST_AT_ONCE);
      const released: string[] = [];
      for (const hold of overdue) {
        if (await release(this.store, hold, this.options.now())) released.push(hold.id);
      }
      if (released.length > 0) await this.journal.remove(released);
      if (released.length < MOST_AT_ONCE) return;
    }
  }

  /** The journal is not the request: that it fails is said, and no more. */
  private async quietly(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      if (!this.journal.isClosed)
        this.options.notices.give("HG_HOLDS_FAILED", "the journal of reservations failed", error);
    }
  }
}

function quietSleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
