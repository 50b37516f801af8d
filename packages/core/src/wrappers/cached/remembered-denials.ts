import { type Limit, sameLimit } from "../../limits/limit.ts";

/** Requests with the same limit and a cost of at least `cost` are denied until a time. */
export interface Denial {
  readonly limit: Limit;
  readonly cost: number;
  readonly until: number;
  /** When the full quota is available again. */
  readonly fullAt: number;
  /** How far the store's clock is ahead of the local one, to report times by the store's clock. */
  readonly ahead: number;
  /** When the store was last asked. */
  checkedAt: number;
}

/** An entry that applies to one limit. */
export interface UnderLimit {
  readonly limit: Limit;
  /** The limit of the latest report, if it differs. */
  otherLimit?: Limit;
}

/** Whether a report under a limit replaces an entry: the limit is the same, or it has been reported twice in a row. */
export function isReplacedBy(entry: UnderLimit, limit: Limit): boolean {
  if (sameLimit(entry.limit, limit)) return true;
  if (entry.otherLimit !== undefined && sameLimit(entry.otherLimit, limit)) return true;
  entry.otherLimit = limit;
  return false;
}

type KnownDenial = Denial & UnderLimit;

const STEPS_PER_DENIAL = 2;

/**
 * Denied keys, and until when. Beyond `maxKeys`, the oldest denials are dropped; those keys are admitted until the
 * store denies them again.
 */
export class RememberedDenials {
  private readonly byKey = new Map<string, KnownDenial>();
  private readonly maxKeys: number;
  /** Cycles through the entries; a map's iterator stays valid while entries are added and removed. */
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

  /** A denial under a different limit replaces the known one when that limit is reported twice in a row. */
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

  /** Inspects the next few entries and removes expired ones. */
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
