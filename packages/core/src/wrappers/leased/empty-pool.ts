/** Remembers that a pool is empty, so that it is not asked needlessly. Times are by the local clock. */
export class EmptyPool {
  /** Requests for this many units or more are denied until then. */
  private from = Number.POSITIVE_INFINITY;
  private end = Number.NEGATIVE_INFINITY;
  /** When something was last known to have been put into the pool. */
  private openedAt = Number.NEGATIVE_INFINITY;

  get until(): number {
    return this.end;
  }

  get lastOpenedAt(): number {
    return this.openedAt;
  }

  refuses(units: number, now: number): boolean {
    return units >= this.from && now < this.end;
  }

  /**
   * Records that a node saw the pool deny. Returns whether that is the latest news; notifications may arrive out of
   * order.
   */
  shut(from: number, until: number, seenAt: number): boolean {
    if (this.isOpenedSince(seenAt)) return false;
    this.from = from;
    this.end = until;
    return true;
  }

  isOpenedSince(time: number): boolean {
    return time < this.openedAt;
  }

  /** Records that something was put into the pool. */
  open(at: number): void {
    if (at <= this.openedAt) return;
    this.openedAt = at;
    this.forget();
  }

  /** The pool has granted something, so earlier reports are void. */
  forget(): void {
    this.from = Number.POSITIVE_INFINITY;
    this.end = Number.NEGATIVE_INFINITY;
  }
}
