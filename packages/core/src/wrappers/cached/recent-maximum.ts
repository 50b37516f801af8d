/** How long a value counts at least, in microseconds; at most twice as long. */
const SPAN = 5_000_000;

/** The largest of the recent values. */
export class RecentMaximum {
  private worst = 0;
  private worstBefore = 0;
  private since: number;

  constructor(now: number) {
    this.since = now;
  }

  add(value: number, now: number): void {
    this.turn(now);
    this.worst = Math.max(this.worst, value);
  }

  value(now: number): number {
    this.turn(now);
    return Math.max(this.worst, this.worstBefore);
  }

  private turn(now: number): void {
    const spans = Math.abs(now - this.since) / SPAN;
    if (spans < 1) return;
    this.worstBefore = spans < 2 ? this.worst : 0;
    this.worst = 0;
    this.since = now;
  }
}
