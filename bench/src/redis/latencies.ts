/** A power of two, so that wrapping around is a mask. */
const KEPT = 2 ** 20;

/** How long each of the last million checks took, in ms. */
export class Latencies {
  private readonly times = new Float64Array(KEPT);
  private count = 0;

  add(ms: number): void {
    this.times[this.count & (KEPT - 1)] = ms;
    this.count += 1;
  }

  /** The least time that this share of the checks kept within. */
  percentile(share: number): number {
    const sorted = this.times.slice(0, Math.min(this.count, KEPT)).sort();
    return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  }
}
