import { type Limit, sameLimit } from "../../limits/limit.ts";
import { isReplacedBy, type UnderLimit } from "./remembered-denials.ts";

/** What the store last said about a key under a limit, less what was admitted here since. */
interface KnownQuota extends UnderLimit {
  left: number;
  /** When the store said it, by the local clock. */
  at: number;
}

/**
 * What is left of each key's quota, as far as this process knows. If there are more than `maxKeys`, the ones that were
 * heard of first are forgotten: the store is then asked about them again.
 */
export class KnownQuotas {
  private readonly byKey = new Map<string, KnownQuota>();
  private readonly maxKeys: number;

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys;
  }

  /** What is left under a limit, unless nothing was heard for longer than `maxAge`. */
  left(key: string, limit: Limit, now: number, maxAge: number): number | undefined {
    const known = this.byKey.get(key);
    if (known === undefined || Math.abs(now - known.at) > maxAge || !sameLimit(known.limit, limit)) return undefined;
    return known.left;
  }

  /** Takes in what the store said under a limit. */
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

  /** Counts what was admitted here; what is left under the limit then, if that is known. */
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
