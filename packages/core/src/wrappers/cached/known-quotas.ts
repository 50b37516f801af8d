/** What the store last said about a key, less what was let in here since. */
interface KnownQuota {
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

  /** What is left, unless nothing was heard for longer than `maxAge`. */
  left(key: string, now: number, maxAge: number): number | undefined {
    const known = this.byKey.get(key);
    if (known === undefined || Math.abs(now - known.at) > maxAge) return undefined;
    return known.left;
  }

  /** Takes in what the store said. */
  set(key: string, left: number, now: number): void {
    const known = this.byKey.get(key);
    if (known !== undefined) {
      known.left = left;
      known.at = now;
      return;
    }
    if (this.byKey.size >= this.maxKeys) {
      for (const first of this.byKey.keys()) {
        this.byKey.delete(first);
        break;
      }
    }
    this.byKey.set(key, { left, at: now });
  }

  /** Counts what was let in here; what is left then, if anything is known. */
  spend(key: string, cost: number): number | undefined {
    const known = this.byKey.get(key);
    if (known === undefined) return undefined;
    known.left -= cost;
    return known.left;
  }

  delete(key: string): void {
    this.byKey.delete(key);
  }

  clear(): void {
    this.byKey.clear();
  }
}
