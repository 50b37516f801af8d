/** A store that answers within this time, in microseconds, is fast. */
const QUICK = 5_000;
/** Weight of the latest answer. */
const WEIGHT = 1 / 8;
/** A key of a slow store may be idle for this many round trips. */
const REST = 40;

/**
 * Tracks the latency of the store. With a slow store, keys cannot be busy because callers wait for each answer, so a
 * lease pays off after fewer requests and is worth keeping for longer.
 */
export class StoreLatency {
  /** Recent latency in microseconds. */
  private latency = 0;

  answered(took: number): void {
    this.latency += (Math.max(0, took) - this.latency) * WEIGHT;
  }

  /** Scales a threshold of requests to the latency; a threshold above one stays at least two. */
  enough(requests: number): number {
    if (this.latency <= QUICK) return requests;
    return Math.min(requests, Math.max(2, Math.ceil((requests * QUICK) / this.latency)));
  }

  /** How long a key may be idle, given the time for a fast store. */
  rest(time: number): number {
    return Math.max(time, REST * this.latency);
  }
}
