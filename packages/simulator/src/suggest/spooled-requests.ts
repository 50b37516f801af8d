import { KeyIndex } from "../replay/key-index.ts";

const FEWEST = 1 << 16;

/** Requests in memory, 20 bytes each, by key. */
export class SpooledRequests {
  readonly index = new KeyIndex();
  size = 0;
  #times = new Float64Array(FEWEST);
  #costs = new Float64Array(FEWEST);
  #keys = new Uint32Array(FEWEST);

  add(time: number, key: string, cost: number): void {
    if (this.size === this.#times.length) this.#grow();
    this.#times[this.size] = time;
    this.#costs[this.size] = cost;
    this.#keys[this.size] = this.index.numberOf(key);
    this.size += 1;
  }

  /** The requests of each key, in order of time. */
  byKey(): readonly KeyRequests[] {
    const starts = new Uint32Array(this.index.size + 1);
    for (let i = 0; i < this.size; i += 1) starts[this.#keys[i] + 1] += 1;
    for (let key = 0; key < this.index.size; key += 1) starts[key + 1] += starts[key];
    const order = new Uint32Array(this.size);
    const next = starts.slice();
    for (let i = 0; i < this.size; i += 1) {
      const key = this.#keys[i];
      order[next[key]] = i;
      next[key] += 1;
    }
    return Array.from({ length: this.index.size }, (_, key) => {
      const those = order.subarray(starts[key], starts[key + 1]);
      // Sorting is stable, so requests of the same time keep their order.
      if (!this.#isInOrder(those)) those.sort((a, b) => this.#times[a] - this.#times[b] || a - b);
      return new KeyRequests(this.#times, this.#costs, those);
    });
  }

  #isInOrder(places: Uint32Array): boolean {
    for (let i = 1; i < places.length; i += 1) {
      if (this.#times[places[i]] < this.#times[places[i - 1]]) return false;
    }
    return true;
  }

  #grow(): void {
    const [times, costs, keys] = [this.#times, this.#costs, this.#keys];
    this.#times = new Float64Array(2 * this.size);
    this.#costs = new Float64Array(2 * this.size);
    this.#keys = new Uint32Array(2 * this.size);
    this.#times.set(times);
    this.#costs.set(costs);
    this.#keys.set(keys);
  }
}

/** The requests of one key. */
export class KeyRequests {
  /** Units of all requests together: a limit of as many never denies one. */
  readonly total: number;
  /** Units of the largest request: a limit of fewer always denies it. */
  readonly largest: number;
  readonly #times: Float64Array;
  readonly #costs: Float64Array;
  readonly #places: Uint32Array;

  constructor(times: Float64Array, costs: Float64Array, places: Uint32Array) {
    this.#times = times;
    this.#costs = costs;
    this.#places = places;
    let [total, largest] = [0, 0];
    for (const place of places) {
      total += costs[place];
      if (costs[place] > largest) largest = costs[place];
    }
    this.total = total;
    this.largest = largest;
  }

  get size(): number {
    return this.#places.length;
  }

  timeAt(i: number): number {
    return this.#times[this.#places[i]];
  }

  costAt(i: number): number {
    return this.#costs[this.#places[i]];
  }
}
