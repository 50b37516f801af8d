/** What is known about a key that was denied. Times are in microseconds. */
interface DeniedKey {
  denied: number;
  firstAt: number;
  /** How long the key was shut out before the present time out, if there is one. */
  shutOut: number;
  /** The latest time out: from a denial until the same request would be admitted, or another one was. */
  from: number;
  until: number;
}

/** The keys that a rule denied, in the order of their first denials. */
export class DeniedKeys {
  readonly #keys = new Map<number, DeniedKey>();

  get size(): number {
    return this.#keys.size;
  }

  deny(key: number, time: number, retryAfter: number): void {
    const until = time + retryAfter;
    const known = this.#keys.get(key);
    if (known === undefined) {
      this.#keys.set(key, { denied: 1, firstAt: time, shutOut: 0, from: time, until });
      return;
    }
    known.denied += 1;
    if (time <= known.until) {
      if (until > known.until) known.until = until;
      return;
    }
    known.shutOut += known.until - known.from;
    known.from = time;
    known.until = until;
  }

  /** A smaller request may be admitted while a larger one would still be denied. */
  admit(key: number, time: number): void {
    const known = this.#keys.get(key);
    if (known !== undefined && time < known.until) known.until = time;
  }

  /** All keys, with the time that each was shut out until `end`. */
  *entries(end: number): Iterable<{ key: number; denied: number; firstAt: number; shutOut: number }> {
    for (const [key, { denied, firstAt, shutOut, from, until }] of this.#keys) {
      yield { key, denied, firstAt, shutOut: shutOut + Math.max(0, Math.min(until, end) - from) };
    }
  }
}
