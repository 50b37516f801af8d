import type { StoreLatency } from "./store-latency.ts";

/** How long a generation of counts lasts, in microseconds, where the store is quick. */
const GENERATION = 1_000_000;
const MOST_KEYS = 20_000;

/** Which keys come often, for this store. Counts of the last second or two, of a bounded number of keys. */
export class HotKeys {
  private young = new Map<string, number>();
  private old = new Map<string, number>();
  private since = 0;
  private readonly hot: number;
  private readonly tempo: StoreLatency;

  constructor(hot: number, tempo: StoreLatency) {
    this.hot = hot;
    this.tempo = tempo;
  }

  /** Counts a request; whether the key is hot by now. */
  feel(key: string, now: number): boolean {
    const generation = this.tempo.rest(GENERATION);
    if (now - this.since >= generation) this.turn(now, generation);
    const count = (this.young.get(key) ?? 0) + 1;
    if (count > 1 || this.young.size < MOST_KEYS) this.young.set(key, count);
    return count + (this.old.get(key) ?? 0) >= this.tempo.enough(this.hot);
  }

  private turn(now: number, generation: number): void {
    this.old = now - this.since < 2 * generation ? this.young : new Map();
    this.young = new Map();
    this.since = now;
  }
}
