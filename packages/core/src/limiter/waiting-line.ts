interface Waiter {
  served: () => void;
}

/** A place in line. */
interface Place {
  isFirst(): boolean;
  leave(): void;
}

/**
 * Those who wait for one key stand in line: they are served in order, and only the first of them
 * asks the store.
 */
export class WaitingLine {
  private readonly lines = new Map<string, Waiter[]>();

  /**
   * Resolves when it is the caller's turn, or when `giveUp` settles (rejecting if that does).
   * The place that it answers must be left.
   */
  async enter(key: string, giveUp: Promise<void>): Promise<Place> {
    const waiter: Waiter = { served: () => {} };
    const turn = new Promise<void>((resolve) => {
      waiter.served = resolve;
    });
    const line = this.lines.get(key);
    if (line === undefined) {
      this.lines.set(key, [waiter]);
      waiter.served();
    } else {
      line.push(waiter);
    }
    try {
      await Promise.race([turn, giveUp]);
    } catch (reason) {
      this.leave(key, waiter);
      throw reason;
    }
    return { isFirst: () => this.lines.get(key)?.[0] === waiter, leave: () => this.leave(key, waiter) };
  }

  private leave(key: string, waiter: Waiter): void {
    const line = this.lines.get(key) ?? [];
    if (!line.includes(waiter)) return;
    line.splice(line.indexOf(waiter), 1);
    if (line.length === 0) this.lines.delete(key);
    else line[0].served();
  }
}
