/** A histogram in a plain array: adding a value takes a few nanoseconds. */
export class Spread {
  /** Upper bounds of the buckets, ascending, followed by one bucket for larger values. */
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  add(value: number, count = 1): void {
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]) bucket += 1;
    this.counts[bucket] += count;
    this.sum += value * count;
  }
}
