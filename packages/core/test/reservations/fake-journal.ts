import {
  type Action,
  type Answer,
  type ApplyOptions,
  MemoryStore,
  type Operation,
  type Store,
  StoreError,
} from "../../src/index.ts";
import type {
  EntryState,
  Extension,
  FoundEntry,
  JournalEntry,
  ReservationJournal,
} from "../../src/reservations/journal.ts";
import type { ManualClock } from "../../src/testing/index.ts";

/** A journal as a shared store keeps it. */
export class Journal implements ReservationJournal {
  isClosed = false;
  /** What its calls fail with, if anything. */
  failure: Error | undefined;
  readonly calls: string[] = [];
  private readonly clock: ManualClock;
  readonly isOrdered = true;
  private readonly entries = new Map<string, { text: string; deadline: number; claimedUntil?: number }>();
  private readonly ended = new Map<string, string>();

  constructor(clock: ManualClock) {
    this.clock = clock;
  }

  get size(): number {
    return this.entries.size;
  }

  has(id: string): boolean {
    return this.entries.has(id);
  }

  write({ id, text }: JournalEntry, forMs: number): void {
    this.entries.set(id, { text, deadline: this.clock.now() + forMs * 1000 });
  }

  remove(id: string): void {
    this.entries.delete(id);
  }

  async add(entry: JournalEntry, forMs: number): Promise<void> {
    this.called("add");
    this.write(entry, forMs);
  }

  async restore(entry: JournalEntry, forMs: number): Promise<void> {
    if (!this.ended.has(entry.id) && !this.entries.has(entry.id)) await this.add(entry, forMs);
  }

  async extend(extensions: readonly Extension[]): Promise<readonly EntryState[]> {
    this.called("extend");
    return extensions.map(({ id, forMs, text, known = "" }) => {
      const entry = this.entries.get(id);
      if (entry === undefined) return this.ended.has(id) ? "ended" : "missing";
      if (entry.claimedUntil !== undefined) return "ended";
      entry.deadline = Math.max(entry.deadline, this.clock.now() + forMs * 1000);
      if (text !== undefined && known !== "" && known !== entry.text) return "changed";
      entry.text = text ?? entry.text;
      return "open";
    });
  }

  async end(entries: readonly { readonly id: string; readonly text?: string | undefined }[]): Promise<void> {
    this.called("end");
    for (const { id, text } of entries) {
      this.entries.delete(id);
      if (text !== undefined) this.ended.set(id, text);
    }
  }

  async find(id: string): Promise<FoundEntry | undefined> {
    this.called("find");
    const [entry, text] = [this.entries.get(id), this.ended.get(id)];
    if (entry !== undefined) return { id, text: entry.text, deadline: entry.deadline, isEnded: false };
    return text === undefined ? undefined : { id, text, deadline: 0, isEnded: true };
  }

  async claimOverdue(most: number, forMs: number): Promise<readonly FoundEntry[]> {
    const now = this.clock.now();
    this.called("claimOverdue");
    const due = [...this.entries].filter(([, { deadline, claimedUntil = deadline }]) => claimedUntil <= now);
    return due.slice(0, most).map(([id, entry]) => {
      entry.claimedUntil = now + forMs * 1000;
      return { id, text: entry.text, deadline: entry.deadline, isEnded: false };
    });
  }

  async list(most: number): Promise<readonly FoundEntry[]> {
    this.called("list");
    const all = [...this.entries].map(([id, { text, deadline }]) => ({ id, text, deadline, isEnded: false }));
    return all.sort((a, b) => a.deadline - b.deadline).slice(0, most);
  }

  private called(name: string): void {
    this.calls.push(name);
    if (this.failure !== undefined) throw this.failure;
  }
}

const unreachable = new StoreError("HG_STORE_UNREACHABLE", "is gone");

/** A store that outlives the processes that share it. */
export class SharedStore implements Store {
  readonly clock: ManualClock;
  readonly journal: Journal;
  /** What its calls fail with, if anything; `afterwards` when they have been carried out. */
  failure: { readonly error: Error; readonly afterwards?: boolean } | undefined;
  /** The only action that fails, because the store is unreachable whenever it is sent. */
  refused: Action | undefined;
  /** Resolves before these actions are carried out. */
  gate: Promise<void> | undefined;
  gated: readonly Action[] = ["settle", "release"];
  /** What it was asked to do. */
  readonly actions: Action[] = [];
  private readonly memory: MemoryStore;

  constructor(clock: ManualClock) {
    this.clock = clock;
    this.journal = new Journal(clock);
    this.memory = new MemoryStore({ clock, maxIdempotencyKeys: 100_000 });
  }

  async apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    const { failure } = this;
    this.actions.push(action);
    if (action === this.refused) throw unreachable;
    if (this.gated.includes(action)) await this.gate;
    if (failure !== undefined && !failure.afterwards) throw failure.error;
    const answers = this.memory.apply(action, operations, options);
    if (failure !== undefined) throw failure.error;
    return answers;
  }
}
