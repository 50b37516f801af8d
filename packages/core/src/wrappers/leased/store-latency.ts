/** A store that answers within so many microseconds is quick. */
const QUICK = 5_000;
/** How much the last answer counts for. */
const WEIGHT = 1 / 8;
/** A key of a slow store may rest for so many of its answers. */
const REST = 40;

/**
 * How slow the store is. Where each question takes long, keys cannot come often, for those who ask wait: there a
 * lease pays after fewer requests, and is worth keeping for longer.
 */
export class StoreLatency {
  /** What an answer took lately, in microseconds. */
  private latency = 0;

  answered(took: number): void {
    this.latency += (Math.max(0, took) - this.latency) * WEIGHT;
  }

  /** Of so many requests, how many are enough: two at least, if there are to be several. */
  enough(requests: number): number {
    if (this.latency <= QUICK) return requests;
    return Math.min(requests, Math.max(2, Math.ceil((requests * QUICK) / this.latency)));
  }

  /** How long to wait for a key to come again, if it is this long where the store is quick. */
  rest(time: number): number {
    return Math.max(time, REST * this.latency);
  }
}
