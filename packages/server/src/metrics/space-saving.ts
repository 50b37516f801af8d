/** A key among the most frequent. It came at least `count - error` times, and at most `count` times. */
export interface Frequent {
  readonly key: string;
  readonly count: number;
  readonly error: number;
}

interface Entry {
  key: string;
  count: number;
  error: number;
  /** Where in the heap it is, and the count by which it is there. */
  place: number;
  rank: number;
}

/**
 * Finds the most frequent of any number of keys with room for few ("space-saving", Metwally et al. 2005).
 * Whatever came more often than one in `capacity` times is among them, and no count is off by more than that.
 */
export class SpaceSaving {
  /** How many keys came, each as often as it did. */
  total = 0;
  private readonly capacity: number;
  private readonly entries = new Map<string, Entry>();
  /**
   * The least frequent comes first: it makes room for a new one. One that comes again keeps its place until it is
   * the first, so that a key that is known costs no more than a look.
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

  /** The most frequent ones, in order. */
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
    // It may have come before and been replaced, at most as often as the least that is still known.
    least.error = least.count;
    least.count += 1;
    least.key = key;
    this.entries.set(key, least);
    this.sink(least);
  }

  /** Gives an entry the place that its count has by now. */
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
