import {
  type Action,
  type Answer,
  type ApplyOptions,
  MemoryStore,
  type Operation,
  type ReservationJournal,
  type Store,
} from "../../src/index.ts";
import type { JournalEntry } from "../../src/reservations/journal.ts";
import type { ManualClock } from "../../src/testing/index.ts";

/** A journal as a shared store keeps it. */
export class Journal implements ReservationJournal {
  isClosed = false;
  /** What its calls fail with, if anything. */
  failure: Error | undefined;
  readonly calls: string[] = [];
  private readonly clock: ManualClock;
  private readonly holds = new Map<string, { text: string; end: number }>();

  constructor(clock: ManualClock) {
    this.clock = clock;
  }

  get size(): number {
    return this.holds.size;
  }

  async add({ id, text }: JournalEntry, forMs: number): Promise<void> {
    this.called("add");
    this.holds.set(id, { text, end: this.clock.now() + forMs * 1000 });
  }

  async extend(ids: readonly string[], forMs: number): Promise<readonly string[]> {
    this.called("extend");
    return ids.filter((id) => {
      const hold = this.holds.get(id);
      if (hold !== undefined) hold.end = this.clock.now() + forMs * 1000;
      return hold !== undefined;
    });
  }

  async remove(ids: readonly string[]): Promise<void> {
    this.called("remove");
    for (const id of ids) this.holds.delete(id);
  }

  async overdue(most: number): Promise<readonly JournalEntry[]> {
    this.called("overdue");
    const now = this.clock.now();
    const overdue = [...this.holds].filter(([, { end }]) => end <= now).map(([id, { text }]) => ({ id, text }));
    return overdue.slice(0, most);
  }

  private called(name: string): void {
    this.calls.push(name);
    if (this.failure !== undefined) throw this.failure;
  }
}

/** A store that outlives the processes that share it. */
export class SharedStore implements Store {
  readonly clock: ManualClock;
  readonly journal: Journal;
  /** What its calls fail with, if anything; `afterwards` when they have been carried out. */
  failure: { readonly error: Error; readonly afterwards?: boolean } | undefined;
  private readonly memory: MemoryStore;

  constructor(clock: ManualClock) {
    this.clock = clock;
    this.journal = new Journal(clock);
    this.memory = new MemoryStore({ clock, maxIdempotencyKeys: 100_000 });
  }

  async apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    const { failure } = this;
    if (failure !== undefined && !failure.afterwards) throw failure.error;
    const answers = this.memory.apply(action, operations, options);
    if (failure !== undefined) throw failure.error;
    return answers;
  }
}
