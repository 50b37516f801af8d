/** Remembers that a pool is empty, so that it is not asked needlessly. Times are by the local clock. */
export class EmptyPool {
  /** Requests for this many units or more are denied until then. */
  private from = Number.POSITIVE_INFINITY;
  private end = Number.NEGATIVE_INFINITY;
  /** When something was last known to have been put into the pool. */
  private filledAt = Number.NEGATIVE_INFINITY;

  get until(): number {
    return this.end;
  }

  get lastFilledAt(): number {
    return this.filledAt;
  }

  denies(units: number, now: number): boolean {
    return units >= this.from && now < this.end;
  }

  /**
   * Records that a node saw the pool deny. Returns false if the report is outdated: notifications may arrive out of order.
   */
  markEmpty(from: number, until: number, seenAt: number): boolean {
    if (this.isFilledSince(seenAt)) return false;
    this.from = from;
    this.end = until;
    return true;
  }

  isFilledSince(time: number): boolean {
    return time < this.filledAt;
  }

  /** Records that something was put into the pool. */
  markFilled(at: number): void {
    if (at <= this.filledAt) return;
    this.filledAt = at;
    this.forget();
  }

  /** The pool has granted something, so earlier reports are void. */
  forget(): void {
    this.from = Number.POSITIVE_INFINITY;
    this.end = Number.NEGATIVE_INFINITY;
  }
}
