/** Counts waits in microseconds, in classes that are at most 1 % wide. */
export class LatencyCounts {
  readonly #classes = new Map<number, number>();
  #count = 0;
  #longest = 0;

  add(wait: number): void {
    this.#count += 1;
    if (wait > this.#longest) this.#longest = wait;
    const place = classOf(wait);
    this.#classes.set(place, (this.#classes.get(place) ?? 0) + 1);
  }

  report(): { readonly medianWait: number; readonly p99Wait: number; readonly longestWait: number } {
    return { medianWait: this.#at(0.5), p99Wait: this.#at(0.99), longestWait: this.#longest };
  }

  #at(share: number): number {
    let left = Math.ceil(share * this.#count);
    for (const place of [...this.#classes.keys()].sort((a, b) => a - b)) {
      left -= this.#classes.get(place) ?? 0;
      if (left <= 0) return place;
    }
    return 0;
  }
}

/** Rounded up to two or three digits. */
function classOf(wait: number): number {
  let width = 1;
  while (wait >= 1_000 * width) width *= 10;
  return Math.ceil(wait / width) * width;
}
