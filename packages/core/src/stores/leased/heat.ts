/** How long a generation of counts lasts, in microseconds. */
const GENERATION = 1_000_000;
const MOST_KEYS = 20_000;

/** Which keys come often. Counts of the last second or two, of a bounded number of keys. */
export class Heat {
  private young = new Map<string, number>();
  private old = new Map<string, number>();
  private since = 0;
  private readonly hot: number;

  constructor(hot: number) {
    this.hot = hot;
  }

  /** Counts a request; whether the key is hot by now. */
  feel(key: string, now: number): boolean {
    if (now - this.since >= GENERATION) this.turn(now);
    const count = (this.young.get(key) ?? 0) + 1;
    if (count > 1 || this.young.size < MOST_KEYS) this.young.set(key, count);
    return count + (this.old.get(key) ?? 0) >= this.hot;
  }

  private turn(now: number): void {
    this.old = now - this.since < 2 * GENERATION ? this.young : new Map();
    this.young = new Map();
    this.since = now;
  }
}
