import type { Store } from "../stores/store.ts";
import { cleanUp } from "./clean-up.ts";
import { inWaves } from "./in-waves.ts";
import type { FoundEntry, ReservationJournal } from "./journal.ts";
import { REMEMBERED } from "./reservation-steps.ts";

/** Entries claimed at a time. */
const MOST_AT_ONCE = 512;
/** How long other processes leave a claimed entry alone, in milliseconds: this one may die, too. */
const CLAIMED_MS = 1_000;
/** How long the journal keeps what was ended, so that its process learns it. */
const KEPT_MS = REMEMBERED / 1_000;

/** Ends the reservations of processes that have died, or were unresponsive for too long. */
export class AbandonedReservations {
  /** How many were ended by this process. */
  cleanedUp = 0;
  private readonly store: Store;
  private readonly now: () => number;
  private isRunning = false;

  constructor(store: Store, now: () => number) {
    this.store = store;
    this.now = now;
  }

  /** Ends all that have expired, unless this is under way. Rejects if the journal fails. */
  async cleanUp(): Promise<void> {
    const { journal } = this.store;
    if (journal === undefined || this.isRunning) return;
    this.isRunning = true;
    try {
      for (;;) {
        const claimed = await journal.claimOverdue(MOST_AT_ONCE, CLAIMED_MS);
        if (claimed.length === 0 || !(await this.end(journal, claimed))) return;
      }
    } finally {
      this.isRunning = false;
    }
  }

  /** Returns false if the store fails. What could not be ended is claimed again later. */
  private async end(journal: ReservationJournal, claimed: readonly FoundEntry[]): Promise<boolean> {
    const over: { id: string; text: string | undefined }[] = [];
    const end = async (entry: FoundEntry): Promise<boolean> => {
      const result = await cleanUp(this.store, entry, this.now());
      if (result === "later") return false;
      if (result !== "over") this.cleanedUp += 1;
      over.push({ id: entry.id, text: result === "over" ? undefined : result.write() });
      return true;
    };
    // The journal has answered, so maybe only some keys are unreachable. The same entries would come first every time.
    const isProgress = await inWaves(claimed, end, { stopsEarly: false });
    if (over.length > 0) await journal.end(over, KEPT_MS);
    return isProgress;
  }
}
