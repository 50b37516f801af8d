/** Each is a multiple of the one before, so that buckets can be merged. In seconds. */
const WIDTHS = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400, 604_800];
const MOST_BUCKETS = 400;

export interface SeriesReport {
  /** When the first bucket begins, in microseconds since the epoch. */
  readonly start: number;
  /** Width of a bucket in microseconds. */
  readonly width: number;
  readonly admitted: readonly number[];
  readonly denied: readonly number[];
}

/** Counts requests over time, in buckets that become wider as the time span grows. */
export class TimeSeries {
  readonly #widths: readonly number[];
  #level = 0;
  #first = 0;
  #admitted: number[] = [];
  #denied: number[] = [];

  /** `widths`: those that buckets can have, in seconds. */
  constructor(widths: readonly number[] = WIDTHS) {
    this.#widths = widths;
  }

  /** Times never decrease. */
  count(time: number, denied: boolean): void {
    let place = this.#placeOf(time);
    while (place >= MOST_BUCKETS && this.#level < this.#widths.length - 1) {
      this.#widen();
      place = this.#placeOf(time);
    }
    while (this.#admitted.length <= place) {
      this.#admitted.push(0);
      this.#denied.push(0);
    }
    (denied ? this.#denied : this.#admitted)[place] += 1;
  }

  report(): SeriesReport {
    return {
      start: this.#first * this.#width,
      width: this.#width,
      admitted: [...this.#admitted],
      denied: [...this.#denied],
    };
  }

  get #width(): number {
    return this.#widths[this.#level] * 1_000_000;
  }

  #placeOf(time: number): number {
    const bucket = Math.floor(time / this.#width);
    if (this.#admitted.length === 0) this.#first = bucket;
    // At the widest, the last of ten times as many buckets takes the rest: with hours, after five months.
    return Math.min(bucket - this.#first, 10 * MOST_BUCKETS);
  }

  #widen(): void {
    const before = this.#first;
    const each = this.#widths[this.#level + 1] / this.#widths[this.#level];
    this.#level += 1;
    this.#first = Math.floor(before / each);
    const merged = (counts: readonly number[]): number[] => {
      const sums: number[] = [];
      for (const [i, count] of counts.entries()) {
        const place = Math.floor((before + i) / each) - this.#first;
        sums[place] = (sums[place] ?? 0) + count;
      }
      return sums;
    };
    this.#admitted = merged(this.#admitted);
    this.#denied = merged(this.#denied);
  }
}
