import { type Limit, sameLimit } from "../../limits/limit.ts";

/** A request of `cost` or more is denied until a time, if it comes with the same limit. */
export interface Denial {
  readonly limit: Limit;
  readonly cost: number;
  readonly until: number;
  /** When the full quota is there again. */
  readonly fullAt: number;
  /** How far the store's clock is ahead of this process's timers: with it, the times told are the store's own. */
  readonly ahead: number;
  /** When the store was asked last. */
  askedAt: number;
}

/** An entry that was learned under a limit. */
export interface UnderLimit {
  readonly limit: Limit;
  /** The other limit that the latest news came with, if it was another. */
  otherLimit?: Limit;
}

/** Whether news under a limit take the place of an entry: it is of the same limit, or the other one has come before. */
export function isReplacedBy(entry: UnderLimit, limit: Limit): boolean {
  if (sameLimit(entry.limit, limit)) return true;
  if (entry.otherLimit !== undefined && sameLimit(entry.otherLimit, limit)) return true;
  entry.otherLimit = limit;
  return false;
}

type KnownDenial = Denial & UnderLimit;

const STEPS_PER_DENIAL = 2;

/**
 * Who is limited, and until when. If there are more than `maxKeys`, those who were limited first are forgotten:
 * they are let in until the store says it again.
 */
export class RememberedDenials {
  private readonly byKey = new Map<string, KnownDenial>();
  private readonly maxKeys: number;
  /** Goes round and round; a map's iterator stays good while entries come and go. */
  private cursor = this.byKey.entries();

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys;
  }

  get size(): number {
    return this.byKey.size;
  }

  get(key: string, now: number): Denial | undefined {
    const denial = this.byKey.get(key);
    if (denial === undefined || now < denial.until) return denial;
    this.byKey.delete(key);
    return undefined;
  }

  /** A denial under another limit than the one that is known takes its place when that limit comes a second time. */
  set(key: string, denial: Denial, now: number): void {
    this.sweep(STEPS_PER_DENIAL, now);
    const known = this.byKey.get(key);
    if (known !== undefined && now < known.until && !isReplacedBy(known, denial.limit)) return;
    this.byKey.delete(key);
    if (this.byKey.size >= this.maxKeys) this.forgetFirst();
    this.byKey.set(key, denial);
  }

  delete(key: string): void {
    this.byKey.delete(key);
  }

  /** Looks at the next few entries, and forgets those that are over. */
  sweep(steps: number, now: number): void {
    for (let i = 0; i < steps; i += 1) {
      const next = this.cursor.next();
      if (next.done) {
        this.cursor = this.byKey.entries();
        continue;
      }
      const [key, { until }] = next.value;
      if (until <= now) this.byKey.delete(key);
    }
  }

  private forgetFirst(): void {
    for (const key of this.byKey.keys()) {
      this.byKey.delete(key);
      return;
    }
  }
}
