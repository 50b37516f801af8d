/** What is known of a pool that refuses: so that nobody asks it in vain. Times are those of our clock. */
export class EmptyPool {
  /** So many units and more are refused, until then. */
  private from = Number.POSITIVE_INFINITY;
  private end = Number.NEGATIVE_INFINITY;
  /** When somebody was last known to have put something into the pool. */
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

  /** Somebody has seen the pool refuse: whether that is the latest that is known of it. News may overtake each other. */
  shut(from: number, until: number, seenAt: number): boolean {
    if (this.isOpenedSince(seenAt)) return false;
    this.from = from;
    this.end = until;
    return true;
  }

  isOpenedSince(time: number): boolean {
    return time < this.openedAt;
  }

  /** Somebody has put something into the pool. */
  open(at: number): void {
    if (at <= this.openedAt) return;
    this.openedAt = at;
    this.forget();
  }

  /** The pool gives, whatever was said of it. */
  forget(): void {
    this.from = Number.POSITIVE_INFINITY;
    this.end = Number.NEGATIVE_INFINITY;
  }
}
