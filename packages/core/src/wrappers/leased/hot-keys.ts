import type { StoreLatency } from "./store-latency.ts";

/** How long a generation of counts lasts with a fast store, in microseconds. */
const GENERATION = 1_000_000;
const MOST_KEYS = 20_000;

/** Detects busy keys by their requests in the last second or two, for a bounded number of keys. */
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

  /** Counts a request. Returns whether the key is now hot. */
  count(key: string, now: number): boolean {
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
