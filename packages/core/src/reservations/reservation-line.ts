import { counterOf, type Operation } from "../stores/store.ts";

interface Waiter {
  readonly lines: readonly string[];
  served: () => void;
  wake: () => void;
}

/** A place in the lines of all keys that a reservation needs. */
export interface PlaceInLine {
  /** Resolves when it is first in all of the lines. */
  readonly turn: Promise<void>;
  isFirst(): boolean;
  /** How many wait for one of the operations, from the first up to this one. */
  queued(operation: Operation): number;
  /** Resolves when quota may have been returned since this was called, other than by the passage of time. */
  woken(): Promise<void>;
  leave(): void;
}

/**
 * Reservations that wait for a key form a line: they are served in order, and only the first of them asks the store. One
 * that waits for several keys enters all of their lines at once, so that no two wait for each other.
 */
export class ReservationLine {
  private readonly lines = new Map<string, Waiter[]>();

  enter(operations: readonly Operation[]): PlaceInLine {
    const waiter: Waiter = { lines: operations.map(nameOf), served: () => {}, wake: () => {} };
    const turn = new Promise<void>((resolve) => {
      waiter.served = resolve;
    });
    for (const name of waiter.lines) {
      const line = this.lines.get(name);
      if (line === undefined) this.lines.set(name, [waiter]);
      else line.push(waiter);
    }
    if (this.isFirst(waiter)) waiter.served();
    return {
      turn,
      isFirst: () => this.isFirst(waiter),
      queued: (operation) => (this.lines.get(nameOf(operation))?.indexOf(waiter) ?? -1) + 1,
      woken: () =>
        new Promise((resolve) => {
          waiter.wake = resolve;
        }),
      leave: () => this.leave(waiter),
    };
  }

  /** Quota of a key was returned: the first in line asks again. */
  wake(counter: string, key: string): void {
    if (this.lines.size > 0) this.lines.get(JSON.stringify([counter, key]))?.[0].wake();
  }

  /** Under any key: a limit has changed. */
  wakeAll(): void {
    for (const [first] of this.lines.values()) first.wake();
  }

  private isFirst(waiter: Waiter): boolean {
    return waiter.lines.every((name) => this.lines.get(name)?.[0] === waiter);
  }

  private leave(waiter: Waiter): void {
    for (const name of waiter.lines) {
      const line = this.lines.get(name);
      const at = line?.indexOf(waiter) ?? -1;
      if (line === undefined || at < 0) continue;
      line.splice(at, 1);
      if (line.length === 0) this.lines.delete(name);
    }
    for (const name of waiter.lines) {
      const next = this.lines.get(name)?.[0];
      if (next !== undefined && this.isFirst(next)) next.served();
    }
  }
}

function nameOf({ rule, key }: Operation): string {
  return JSON.stringify([counterOf(rule), key]);
}
