/** How many steps of promises run between two events: more than any chain of them here is long. */
const STEPS = 20;

interface Event {
  readonly at: number;
  readonly seq: number;
  readonly run: () => void;
}

/** Time that passes only from event to event, in microseconds. Events of one moment come in the order in which they were set. */
export class VirtualTime {
  now: number;
  private readonly heap: Event[] = [];
  private seq = 0;

  constructor(start: number) {
    this.now = start;
  }

  at(time: number, run: () => void): void {
    const event = { at: Math.max(time, this.now), seq: this.seq, run };
    this.seq += 1;
    let i = this.heap.push(event) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(event, this.heap[parent])) break;
      this.heap[i] = this.heap[parent];
      i = parent;
    }
    this.heap[i] = event;
  }

  after(span: number, run: () => void): void {
    this.at(this.now + span, run);
  }

  /** Lets everything happen up to a time; `check` is called after each event. */
  async runUntil(end: number, check: () => void): Promise<void> {
    for (let next = this.heap[0]; next !== undefined && next.at <= end; next = this.heap[0]) {
      this.pop();
      this.now = next.at;
      next.run();
      for (let i = 0; i < STEPS; i += 1) await undefined;
      check();
    }
    this.now = end;
  }

  private pop(): void {
    const last = this.heap.pop();
    if (last === undefined || this.heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= this.heap.length) break;
      if (child + 1 < this.heap.length && isBefore(this.heap[child + 1], this.heap[child])) child += 1;
      if (!isBefore(this.heap[child], last)) break;
      this.heap[i] = this.heap[child];
      i = child;
    }
    this.heap[i] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.seq < b.seq);
}
