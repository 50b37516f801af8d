/** A power of two, so that wrapping around is a mask. */
const KEPT = 2 ** 20;

/** The latencies of the last million checks, in ms. */
export class Latencies {
  private readonly times = new Float64Array(KEPT);
  private count = 0;

  add(ms: number): void {
    this.times[this.count & (KEPT - 1)] = ms;
    this.count += 1;
  }

  /** The latency that this share of the checks did not exceed. */
  percentile(share: number): number {
    const sorted = this.times.slice(0, Math.min(this.count, KEPT)).sort();
    return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  }
}
