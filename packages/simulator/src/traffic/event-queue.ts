interface Entry<Item> {
  readonly at: number;
  readonly number: number;
  readonly item: Item;
}

/** Items in order of time. Those of the same time leave in the order in which they were added. */
export class EventQueue<Item> {
  readonly #heap: Entry<Item>[] = [];
  #added = 0;

  /** The time of the first item; Infinity if there is none. */
  get nextAt(): number {
    return this.#heap.length === 0 ? Number.POSITIVE_INFINITY : this.#heap[0].at;
  }

  add(at: number, item: Item): void {
    const entry = { at, number: this.#added, item };
    this.#added += 1;
    let place = this.#heap.push(entry) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isBefore(entry, this.#heap[parent])) break;
      this.#heap[place] = this.#heap[parent];
      place = parent;
    }
    this.#heap[place] = entry;
  }

  /** Removes the first item. */
  take(): Item | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return last?.item;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= this.#heap.length) break;
      if (child + 1 < this.#heap.length && isBefore(this.#heap[child + 1], this.#heap[child])) child += 1;
      if (!isBefore(this.#heap[child], last)) break;
      this.#heap[place] = this.#heap[child];
      place = child;
    }
    this.#heap[place] = last;
    return first.item;
  }
}

function isBefore(a: Entry<unknown>, b: Entry<unknown>): boolean {
  return a.at < b.at || (a.at === b.at && a.number < b.number);
}
