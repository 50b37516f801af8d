/** Keys by their largest usage: `count` keys used from `from` up to, but not including, `to` units. */
export interface UsageBar {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Up to here every unit has a bar of its own. */
const MOST_SINGLE = 60;
const LOG_BARS = 40;
/** The axis is never shorter. */
const SHORTEST = 10;

/** A scale of units from 1 on: linear for small usage, logarithmic for large. Places are shares of its length. */
export class UsageScale {
  readonly max: number;
  readonly #isLog: boolean;

  /** `largest`: the largest number of units that must be on it. */
  constructor(largest: number) {
    this.#isLog = largest * 1.2 > MOST_SINGLE;
    this.max = Math.max(SHORTEST, Math.ceil(largest * (this.#isLog ? 1.5 : 1.2)));
  }

  /** Where so many units begin. The bar of n units ends where n + 1 begin. */
  placeOf(units: number): number {
    const end = this.max + 1;
    const within = Math.min(Math.max(units, 1), end);
    return this.#isLog ? Math.log(within) / Math.log(end) : (within - 1) / (end - 1);
  }

  /** A limit admits all that it equals, so its line is at the end of the bar. */
  placeOfLimit(limit: number): number {
    return this.placeOf(limit + 1);
  }

  limitAt(place: number): number {
    const end = this.max + 1;
    const within = Math.min(Math.max(place, 0), 1);
    const units = this.#isLog ? end ** within : 1 + within * (end - 1);
    return Math.min(Math.max(Math.round(units) - 1, 1), this.max);
  }

  bars(usages: readonly number[]): readonly UsageBar[] {
    const edges = this.#edges();
    const counts = new Array<number>(edges.length - 1).fill(0);
    for (const usage of usages) {
      const after = edges.findIndex((edge) => edge > usage);
      counts[after === -1 ? counts.length - 1 : Math.max(0, after - 1)] += 1;
    }
    return counts.map((count, i) => ({ from: edges[i], to: edges[i + 1], count }));
  }

  /** Round numbers to label. */
  ticks(): readonly number[] {
    if (this.#isLog) {
      const powers = Array.from({ length: 16 }, (_, i) => 10 ** i);
      const steps = this.max > 20_000 ? [1] : this.max > 300 ? [1, 3] : [1, 2, 5];
      return powers.flatMap((power) => steps.map((step) => step * power)).filter((units) => units <= this.max);
    }
    const step = this.max <= 15 ? 1 : this.max <= 30 ? 2 : 10;
    return Array.from({ length: this.max }, (_, i) => i + 1).filter((units) => units % step === 0 || units === 1);
  }

  #edges(): readonly number[] {
    const end = this.max + 1;
    if (!this.#isLog) return Array.from({ length: end }, (_, i) => i + 1);
    const edges = Array.from({ length: LOG_BARS + 1 }, (_, i) => Math.round(end ** (i / LOG_BARS)));
    return [...new Set(edges)];
  }
}
