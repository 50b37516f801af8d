import { DIMENSIONS, type Dimension } from "../rules/rule.ts";
import { SpaceSaving } from "./space-saving.ts";

/** Somebody who was denied often. The true number is between `denied - error` and `denied`. */
export interface DeniedKey {
  readonly dimension: Dimension;
  readonly identifier: string;
  readonly denied: number;
  readonly error: number;
}

const CAPACITY = 1_000;
/** So many wait to be counted together: one by one, each would find the sketch gone from the processor's cache. */
const BATCH = 256;

/** Who was denied most in this period and the one before it, in bounded memory however many are denied. */
export class TopDenied {
  private current = sketches();
  private last = sketches();
  private readonly waiting: Readonly<Record<Dimension, string[]>> = { user: [], ip: [], apikey: [] };

  add(dimension: Dimension, identifier: string): void {
    const waiting = this.waiting[dimension];
    waiting.push(identifier);
    if (waiting.length >= BATCH) this.count(dimension);
  }

  /** Begins a new period: what is older than the one that ends now is forgotten. */
  rotate(): void {
    for (const dimension of DIMENSIONS) this.count(dimension);
    this.last = this.current;
    this.current = sketches();
  }

  top(limit: number): DeniedKey[] {
    return DIMENSIONS.flatMap((dimension) => this.merged(dimension))
      .sort((a, b) => b.denied - a.denied)
      .slice(0, limit);
  }

  private count(dimension: Dimension): void {
    const waiting = this.waiting[dimension];
    for (const identifier of waiting) this.current[dimension].add(identifier);
    waiting.length = 0;
  }

  private merged(dimension: Dimension): DeniedKey[] {
    this.count(dimension);
    const byKey = new Map<string, DeniedKey>();
    for (const sketch of [this.last[dimension], this.current[dimension]]) {
      for (const { key, count, error } of sketch.top(CAPACITY)) {
        const { denied = 0, error: before = 0 } = byKey.get(key) ?? {};
        byKey.set(key, { dimension, identifier: key, denied: denied + count, error: before + error });
      }
    }
    return [...byKey.values()];
  }
}

function sketches(): Record<Dimension, SpaceSaving> {
  return { user: new SpaceSaving(CAPACITY), ip: new SpaceSaving(CAPACITY), apikey: new SpaceSaving(CAPACITY) };
}
