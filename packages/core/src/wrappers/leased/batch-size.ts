/** A batch should last about so long, in microseconds. */
const LASTS = 2_000_000;
/** What to begin with: so a key that seems slow only because each request waits for the pool soon shows how fast it is. */
const FIRST = 16;
/** All nodes together hold no more than about this part of what is left. */
const OUTSTANDING = 1 / 25;
/** Of a node that has not yet seen how much the others take. */
const FIRST_SHARE = 1 / 8;
const LEAST_SHARE = 1 / 64;
/** Smaller ones are not worth having: each request asks for what it needs, and nothing is left lying about. */
const LEAST = 3;

/**
 * How much to take at a time: what this node will need in a while, and no more than its share of a small part of
 * what the pool has left. So batches are large while the pool is full and the key is busy here, shrink as it runs
 * low, and little lies with other nodes when somebody is denied. Nobody needs to know how many nodes there are.
 */
export class BatchSize {
  /** What the pool had left when it last answered. */
  private left = 0;
  private share = FIRST_SHARE;
  /** Units for each microsecond. */
  private rate = 0;
  /** How much the last batch was. */
  private last = 0;
  private since: number;
  private taken = 0;
  private readonly fixed: number | undefined;

  constructor(fixed: number | undefined, now: number) {
    this.fixed = fixed;
    this.since = now;
  }

  /** `spent`: in this node since the last time. */
  next(left: number, spent: number, now: number): number {
    if (this.fixed !== undefined) return this.refused(left);
    const elapsed = Math.max(1, now - this.since);
    this.since = now;
    this.rate = Math.max(spent / elapsed, this.rate / 2);
    // Twice as much as what did not last: who waits for each batch would else never seem fast.
    const more = elapsed < LASTS ? 2 * this.last : 0;
    const wanted = Math.max(FIRST, this.rate * LASTS, more);
    const size = Math.floor(Math.min(wanted, left * OUTSTANDING * this.share));
    this.last = size < LEAST ? 0 : size;
    return this.last;
  }

  /** Takes in what a grant has shown: so many units were left after it. */
  granted(amount: number, left: number): void {
    // What is missing, and we did not take, others took.
    const byOthers = Math.max(0, this.left - amount - left);
    if (this.taken > 0) {
      const seen = this.taken / (this.taken + byOthers);
      this.share = Math.max(LEAST_SHARE, (this.share + seen) / 2);
    }
    this.left = left;
    this.taken = amount;
  }

  /** How much to take beside what is needed, of the `spare` that a pool has: also of one that just refused a batch. */
  refused(spare: number): number {
    // One of our own making is small beside the pool, which must be all but empty. A fixed one may be larger than it:
    // half, and half of the rest with the next, empties it in a few steps and leaves some to the others.
    return this.fixed === undefined ? 0 : Math.min(this.fixed, Math.max(0, Math.floor(spare / 2)));
  }

  /** We gave some back. */
  returned(amount: number): void {
    this.left += amount;
  }

  /** The pool is another: what it had left says nothing of what others took. */
  renewed(): void {
    this.taken = 0;
  }
}
