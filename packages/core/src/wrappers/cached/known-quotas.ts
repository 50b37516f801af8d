import { type Limit, sameLimit } from "../../limits/limit.ts";
import { isReplacedBy, type UnderLimit } from "./remembered-denials.ts";

/** What the store last reported about a key under a limit, minus what was admitted here since. */
interface KnownQuota extends UnderLimit {
  left: number;
  /** When the store reported it, by the local clock. */
  at: number;
}

/**
 * The remaining quota of each key, as far as this process knows. Beyond `maxKeys`, the oldest entries are dropped, and
 * the store is asked about those keys again.
 */
export class KnownQuotas {
  private readonly byKey = new Map<string, KnownQuota>();
  private readonly maxKeys: number;

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys;
  }

  /** The remaining quota under a limit, unless the last report is older than `maxAge`. */
  left(key: string, limit: Limit, now: number, maxAge: number): number | undefined {
    const known = this.byKey.get(key);
    if (known === undefined || Math.abs(now - known.at) > maxAge || !sameLimit(known.limit, limit)) return undefined;
    return known.left;
  }

  /** Records what the store reported under a limit. */
  set(key: string, limit: Limit, left: number, now: number): void {
    const known = this.byKey.get(key);
    if (known !== undefined) {
      if (!isReplacedBy(known, limit)) return;
      this.byKey.set(key, { limit, left, at: now });
      return;
    }
    if (this.byKey.size >= this.maxKeys) {
      for (const first of this.byKey.keys()) {
        this.byKey.delete(first);
        break;
      }
    }
    this.byKey.set(key, { limit, left, at: now });
  }

  /** Counts what was admitted here. Returns what is left under the limit, if known. */
  spend(key: string, limit: Limit, cost: number): number | undefined {
    const known = this.byKey.get(key);
    if (known === undefined) return undefined;
    known.left -= cost;
    return sameLimit(known.limit, limit) ? known.left : undefined;
  }

  delete(key: string): void {
    this.byKey.delete(key);
  }
}
