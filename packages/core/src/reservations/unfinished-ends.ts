import type { Verdict } from "../limiter/verdict.ts";
import type { Store } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import { inWaves } from "./in-waves.ts";
import type { OpenReservation } from "./open-reservation.ts";
import { releaseSlots } from "./reservation-steps.ts";

/** Reservations whose slots are released when the store is back. The slots of others are free when their lease ends. */
const MOST_SLOTS = 100_000;

/** What this process can do for a reservation whose end the store has not heard of. */
export interface Finishing {
  /** Ends it in the store. */
  finish(open: OpenReservation): Promise<Verdict>;
  /** The store has released its slots. */
  released(open: OpenReservation, verdict: Verdict): void;
  now(): number;
}

/** Ends of reservations, and releases of slots, that the store has not heard of because it failed. They are repeated. */
export class UnfinishedEnds {
  private readonly store: Store;
  private readonly finishing: Finishing;
  private readonly ends = new Set<OpenReservation>();
  /** Reservations whose slots were released by the fallback only. */
  private readonly slots = new Set<OpenReservation>();

  constructor(store: Store, finishing: Finishing) {
    this.store = store;
    this.finishing = finishing;
  }

  get size(): number {
    return this.ends.size + this.slots.size;
  }

  addEnd(open: OpenReservation): void {
    open.isUndone = true;
    this.ends.add(open);
  }

  addSlots(open: OpenReservation): void {
    if (this.slots.size < MOST_SLOTS) this.slots.add(open);
  }

  delete(open: OpenReservation): void {
    this.ends.delete(open);
  }

  /** Repeats them, until the store fails again. */
  async retry(): Promise<void> {
    const isUp = await inWaves([...this.ends], (open) => this.end(open));
    if (isUp) await inWaves([...this.slots], (open) => this.release(open));
  }

  /** Returns whether the store has answered. */
  private async end(open: OpenReservation): Promise<boolean> {
    if (open.ended === undefined) return true;
    const verdict = this.finishing.finish(open);
    open.ended.verdict = verdict;
    const error: unknown = await verdict.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (error !== undefined && failureOf(error) !== undefined) return false;
    this.ends.delete(open);
    return true;
  }

  private async release(open: OpenReservation): Promise<boolean> {
    // By then, the lease has ended by itself.
    if (this.finishing.now() >= open.slotsDeadline) return this.slots.delete(open);
    try {
      const verdict = await releaseSlots(this.store, open.state, { storeOnly: true });
      this.slots.delete(open);
      this.finishing.released(open, verdict);
      return true;
    } catch (error) {
      if (failureOf(error) !== undefined) return false;
      // Any other error would occur again.
      return this.slots.delete(open);
    }
  }
}
