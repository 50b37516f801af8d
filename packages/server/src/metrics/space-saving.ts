/** A frequent key. It occurred at least `count - error` and at most `count` times. */
export interface Frequent {
  readonly key: string;
  readonly count: number;
  readonly error: number;
}

interface Entry {
  key: string;
  count: number;
  error: number;
  /** Its position in the heap, and the count that determines it. */
  place: number;
  rank: number;
}

/**
 * Finds the most frequent keys in bounded memory ("space-saving", Metwally et al. 2005). Every key that makes up more
 * than one in `capacity` occurrences is included, and no count is off by more than that.
 */
export class SpaceSaving {
  /** Number of occurrences of all keys. */
  total = 0;
  private readonly capacity: number;
  private readonly entries = new Map<string, Entry>();
  /**
   * The least frequent key comes first and is replaced by a new one. A key that occurs again keeps its position until
   * it is first, so that counting a known key costs only a lookup.
   */
  private readonly heap: Entry[] = [];

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  add(key: string): void {
    this.total += 1;
    const known = this.entries.get(key);
    if (known !== undefined) {
      known.count += 1;
    } else if (this.heap.length < this.capacity) {
      this.rise(key);
    } else {
      this.replaceLeast(key);
    }
  }

  /** The most frequent keys, in order. */
  top(limit: number): Frequent[] {
    return [...this.heap]
      .sort((a, b) => b.count - a.count || a.error - b.error)
      .slice(0, limit)
      .map(({ key, count, error }) => ({ key, count, error }));
  }

  private rise(key: string): void {
    const entry: Entry = { key, count: 1, error: 0, place: this.heap.length, rank: 1 };
    this.entries.set(key, entry);
    this.heap.push(entry);
    while (entry.place > 0) {
      const parent = this.heap[(entry.place - 1) >> 1];
      if (parent.rank <= entry.rank) return;
      this.swap(parent, entry);
    }
  }

  private replaceLeast(key: string): void {
    while (this.heap[0].rank < this.heap[0].count) this.sink(this.heap[0]);
    const least = this.heap[0];
    this.entries.delete(least.key);
    // It may have occurred before and been replaced, at most as often as the least frequent key now.
    least.error = least.count;
    least.count += 1;
    least.key = key;
    this.entries.set(key, least);
    this.sink(least);
  }

  /** Moves an entry to the position of its current count. */
  private sink(entry: Entry): void {
    const { heap } = this;
    entry.rank = entry.count;
    for (;;) {
      const left = 2 * entry.place + 1;
      if (left >= heap.length) return;
      const right = left + 1;
      const child = right < heap.length && heap[right].rank < heap[left].rank ? heap[right] : heap[left];
      if (child.rank >= entry.rank) return;
      this.swap(entry, child);
    }
  }

  private swap(upper: Entry, lower: Entry): void {
    const place = upper.place;
    upper.place = lower.place;
    lower.place = place;
    this.heap[upper.place] = upper;
    this.heap[lower.place] = lower;
  }
}
