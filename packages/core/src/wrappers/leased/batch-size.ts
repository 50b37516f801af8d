/** How long a batch should last, in microseconds. */
const LASTS = 2_000_000;
/**
 * Size of the first batch, so that a key that only seems slow because each request waits for the pool soon shows its
 * rate.
 */
const FIRST = 16;
/** Share of the remaining quota that all nodes together should hold. */
const OUTSTANDING = 1 / 25;
/** Share of a node that has not yet seen how much the others take. */
const FIRST_SHARE = 1 / 8;
const LEAST_SHARE = 1 / 64;
/** Smaller batches are not worthwhile: each request then takes only what it needs. */
const LEAST = 3;

/**
 * Decides how much to take at a time: what this node will need for a while, but at most its share of a small part of
 * what the pool has left. Batches are large while the pool is full and the key is busy here, and shrink as the pool
 * runs low, so that other nodes hold little when a request is denied. The number of nodes does not have to be known.
 */
export class BatchSize {
  /** What the pool had left at its last answer. */
  private left = 0;
  private share = FIRST_SHARE;
  /** Units per microsecond. */
  private rate = 0;
  /** Size of the last batch. */
  private last = 0;
  private since: number;
  private taken = 0;
  private readonly fixed: number | undefined;

  constructor(fixed: number | undefined, now: number) {
    this.fixed = fixed;
    this.since = now;
  }

  /** `spent`: units spent in this node since the last call. */
  next(left: number, spent: number, now: number): number {
    if (this.fixed !== undefined) return this.afterDenial(left);
    const elapsed = Math.max(1, now - this.since);
    this.since = now;
    this.rate = Math.max(spent / elapsed, this.rate / 2);
    // Double a batch that did not last: if each request waits for a batch, the measured rate would never grow.
    const more = elapsed < LASTS ? 2 * this.last : 0;
    const wanted = Math.max(FIRST, this.rate * LASTS, more);
    const size = Math.floor(Math.min(wanted, left * OUTSTANDING * this.share));
    this.last = size < LEAST ? 0 : size;
    return this.last;
  }

  /** Records a grant and what the pool had left after it. */
  granted(amount: number, left: number): void {
    // What is missing and was not granted to this node was taken by others.
    const byOthers = Math.max(0, this.left - amount - left);
    if (this.taken > 0) {
      const seen = this.taken / (this.taken + byOthers);
      this.share = Math.max(LEAST_SHARE, (this.share + seen) / 2);
    }
    this.left = left;
    this.taken = amount;
  }

  /** How much to take on top of what is needed from a pool with `spare` units, even if it just denied a batch. */
  afterDenial(spare: number): number {
    // An adaptive batch is small relative to the pool, so a pool that denies it is nearly empty. A fixed batch may be
    // larger than the pool: taking half, then half of the rest, empties it in a few steps and leaves some for other
    // nodes.
    return this.fixed === undefined ? 0 : Math.min(this.fixed, Math.max(0, Math.floor(spare / 2)));
  }

  /** Records units given back. */
  returned(amount: number): void {
    this.left += amount;
  }

  /** The pool was refilled, so a change in what it has left does not show what others took. */
  renewed(): void {
    this.taken = 0;
  }
}
