import type { Verdict } from "../limiter/verdict.ts";
import type { Store } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import { inWaves } from "./in-waves.ts";
import type { OpenReservation } from "./open-reservation.ts";
import { releaseSlots } from "./reservation-steps.ts";

/** Reservations whose slots are released when the store is back. The slots of others are free when their lease ends. */
const MOST_SLOTS = 100_000;

/** What this process can do for a reservation whose end has not reached the store. */
export interface Finishing {
  /** Ends it in the store. */
  finish(open: OpenReservation): Promise<Verdict>;
  /** The store has released its slots. */
  released(open: OpenReservation, verdict: Verdict): void;
  now(): number;
}

/** Ends of reservations, and releases of slots, that did not reach the store because it failed. They are repeated. */
export class UnfinishedEnds {
  private readonly store: Store;
  private readonly finishing: Finishing;
  /** By name: clients repeat a settlement that failed, and each of them looks the reservation up. */
  private readonly ends = new Map<string, OpenReservation>();
  /** Reservations whose slots were released by the fallback only. */
  private readonly slots = new Map<string, OpenReservation>();

  constructor(store: Store, finishing: Finishing) {
    this.store = store;
    this.finishing = finishing;
  }

  get size(): number {
    return this.ends.size + this.slots.size;
  }

  addEnd(open: OpenReservation): void {
    open.isUndone = true;
    // The first settlement may have been carried out.
    if (!this.ends.has(open.name)) this.ends.set(open.name, open);
  }

  addSlots(open: OpenReservation): void {
    if (this.slots.size < MOST_SLOTS) this.slots.set(open.name, open);
  }

  delete(open: OpenReservation): void {
    this.ends.delete(open.name);
  }

  /** Repeats them, or some of them if the store still fails. */
  async retry(): Promise<void> {
    await inWaves([...this.ends.values()], (open) => this.end(open), { stopsEarly: true });
    await inWaves([...this.slots.values()], (open) => this.release(open), { stopsEarly: true });
  }

  /** Returns whether the store has answered. */
  private async end(open: OpenReservation): Promise<boolean> {
    if (open.ended === undefined) return this.ends.delete(open.name);
    const verdict = this.finishing.finish(open);
    open.ended.verdict = verdict;
    const error: unknown = await verdict.then(
      () => undefined,
      (error: unknown) => error,
    );
    return this.heard(this.ends, open, error);
  }

  private async release(open: OpenReservation): Promise<boolean> {
    // By then, the lease has ended by itself.
    if (this.finishing.now() >= open.slotsDeadline) return this.slots.delete(open.name);
    try {
      this.finishing.released(open, await releaseSlots(this.store, open.state, { storeOnly: true }));
      return this.heard(this.slots, open, undefined);
    } catch (error) {
      return this.heard(this.slots, open, error);
    }
  }

  /** Forgets a reservation whose end has reached the store, or moves it behind the others. */
  private heard(all: Map<string, OpenReservation>, open: OpenReservation, error: unknown): boolean {
    all.delete(open.name);
    const isHeard = error === undefined || failureOf(error) === undefined;
    if (!isHeard) all.set(open.name, open);
    return isHeard;
  }
}
