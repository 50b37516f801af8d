import type { Clock } from "../clock/clock.ts";
import type { OpenReservation } from "./open-reservation.ts";
import type { OpenReservations } from "./open-reservations.ts";
import { WakeableSleep } from "./wakeable-sleep.ts";

/** How long before its lease ends a slot is given up, in microseconds: the store's time is known to a few milliseconds. */
const MARGIN = 20_000;
/** Timers cannot be set for longer. */
const LONGEST_MS = 3_600_000;

/**
 * Aborts tasks whose slots could not be extended in time, because others may use the slots: even while a call to the
 * store is pending, and before anything else after the process has been frozen.
 */
export class SlotWatch {
  private readonly open: OpenReservations;
  private readonly now: () => number;
  private readonly pause: WakeableSleep;
  private isRunning = false;
  private isClosed = false;
  /** When it looks again, by the store's clock. */
  private next = Number.POSITIVE_INFINITY;

  /** `open`: the reservations of this process. `now`: the store's time. */
  constructor(open: OpenReservations, clock: Clock, now: () => number) {
    this.open = open;
    this.now = now;
    this.pause = new WakeableSleep(clock);
  }

  /** A reservation with slots was added. */
  add(open: OpenReservation): void {
    loseIfOver(open, this.now());
    if (!this.isRunning) void this.run();
    else if (endOf(open) < this.next) this.pause.wake();
  }

  close(): void {
    this.isClosed = true;
    this.pause.wake();
  }

  /** Gives up slots whose lease is over. */
  look(): void {
    const now = this.now();
    this.next = Number.POSITIVE_INFINITY;
    for (const open of this.open.values()) {
      loseIfOver(open, now);
      if (isWatched(open)) this.next = Math.min(this.next, endOf(open));
    }
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (!this.isClosed) {
      this.look();
      if (this.next === Number.POSITIVE_INFINITY) break;
      await this.pause.for(Math.min(LONGEST_MS, Math.max(1, (this.next - this.now()) / 1000)));
    }
    this.isRunning = false;
  }
}

function isWatched({ hasSlots, ended, lost }: OpenReservation): boolean {
  return hasSlots && ended === undefined && lost === undefined;
}

function endOf({ slotsDeadline }: OpenReservation): number {
  return slotsDeadline - MARGIN;
}

function loseIfOver(open: OpenReservation, now: number): void {
  if (isWatched(open) && now >= endOf(open)) {
    open.lose("could not be extended in time, and others may use its slots");
  }
}
