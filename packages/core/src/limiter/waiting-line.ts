interface Waiter {
  served: () => void;
  /** Ends the sleep of a waiter that is first in line and was denied. */
  wake: () => void;
}

/** A place in line. */
interface Place {
  isFirst(): boolean;
  /** Resolves when quota may have been returned since this was called, other than by the passage of time. */
  woken(): Promise<void>;
  leave(): void;
}

/**
 * Calls that wait for one key under one rule form a line: they are served in order, and only the first of them asks the
 * store.
 */
export class WaitingLine {
  /** By rule, then by key. */
  private readonly lines = new Map<string, Map<string, Waiter[]>>();

  /**
   * Resolves when it is the caller's turn, or when `giveUp` settles (rejecting if that does). The caller must leave the
   * returned place.
   */
  async enter(rule: string, key: string, giveUp: Promise<void>): Promise<Place> {
    const waiter: Waiter = { served: () => {}, wake: () => {} };
    const turn = new Promise<void>((resolve) => {
      waiter.served = resolve;
    });
    const line = this.lineOf(rule, key);
    line.push(waiter);
    if (line[0] === waiter) waiter.served();
    const leave = (): void => this.leave(rule, key, waiter);
    try {
      await Promise.race([turn, giveUp]);
    } catch (reason) {
      leave();
      throw reason;
    }
    return {
      isFirst: () => line[0] === waiter,
      woken: () =>
        new Promise((resolve) => {
          waiter.wake = resolve;
        }),
      leave,
    };
  }

  /** Quota was returned for one key, or for all keys of the rule: the first in line checks again. */
  wake(rule: string, key?: string): void {
    const lines = this.lines.get(rule);
    if (lines === undefined) return;
    for (const line of key === undefined ? lines.values() : [lines.get(key) ?? []]) line[0]?.wake();
  }

  private lineOf(rule: string, key: string): Waiter[] {
    let lines = this.lines.get(rule);
    if (lines === undefined) {
      lines = new Map();
      this.lines.set(rule, lines);
    }
    let line = lines.get(key);
    if (line === undefined) {
      line = [];
      lines.set(key, line);
    }
    return line;
  }

  private leave(rule: string, key: string, waiter: Waiter): void {
    const lines = this.lines.get(rule);
    const line = lines?.get(key) ?? [];
    const place = line.indexOf(waiter);
    if (place < 0) return;
    line.splice(place, 1);
    if (line.length > 0) {
      line[0].served();
      return;
    }
    lines?.delete(key);
    if (lines?.size === 0) this.lines.delete(rule);
  }
}
