/** A reservation as it is recorded in the store. */
export interface JournalEntry {
  readonly id: string;
  /** Written by the process that reserved, so that another process can settle or release. */
  readonly text: string;
}

/** An entry that was claimed, or asked for. */
export interface FoundEntry extends JournalEntry {
  /** When the reservation expires, or has expired if the entry was claimed, by the store's clock in microseconds. */
  readonly deadline: number;
  /** Whether it was ended; the entry is kept for a while, so that the same settlement can be repeated. */
  readonly isEnded: boolean;
}

/** An entry that stays for `forMs` milliseconds from now, if it would not stay longer anyway. */
export interface Extension {
  readonly id: string;
  readonly forMs: number;
  /** Replaces the text. */
  readonly text?: string | undefined;
  /** The text as it is known to the caller: if another process has changed it, it is not replaced. Empty: not known. */
  readonly known?: string | undefined;
}

/**
 * What became of an entry: it was extended, and had another text than the caller knew; it was ended, or claimed to be
 * ended, by another process; or the store has lost it.
 */
export type EntryState = "open" | "changed" | "ended" | "missing";

/** What becomes of an entry together with a request. */
export type EntryStep =
  | {
      readonly step: "add";
      readonly id: string;
      readonly text: string;
      readonly forMs: number;
      /** Whether the request is also remembered under its idempotency key, so that it can be repeated. */
      readonly isRemembered?: boolean;
    }
  | { readonly step: "end"; readonly id: string };

/**
 * A journal of reservations, kept in the store, so that other processes can settle or release those of a process that
 * died. It decides nothing: idempotency keys make sure that a reservation ends once.
 */
export interface ReservationJournal {
  /** Whether the store was closed. */
  readonly isClosed: boolean;
  /** Whether `add` takes effect before requests that are sent to the store after it. Otherwise it has to be awaited. */
  readonly isOrdered: boolean;
  /** Whether requests can be recorded in the journal in the same step: see `ApplyOptions.entry`. */
  readonly isAtomic?: boolean;
  /** A new id. Those of reservations that are made at the same time may be chosen so that they are written together. */
  newId?(): string;
  /** Writes an entry. */
  add(entry: JournalEntry, forMs: number): Promise<void>;
  /** Writes an entry that the store has lost, unless it has ended, or another process has written it. */
  restore(entry: JournalEntry, forMs: number): Promise<void>;
  extend(extensions: readonly Extension[]): Promise<readonly EntryState[]>;
  /** Removes entries. Those with a text can be found for another `keepMs` milliseconds, as ended. */
  end(entries: readonly { readonly id: string; readonly text?: string | undefined }[], keepMs: number): Promise<void>;
  find(id: string): Promise<FoundEntry | undefined>;
  /**
   * Claims expired entries, about `most` of them, for the caller to end. A claimed entry cannot be extended any more, so
   * its process learns that the reservation is lost. After `forMs` milliseconds, entries that were not ended can be
   * claimed again, since the caller may die, too.
   */
  claimOverdue(most: number, forMs: number): Promise<readonly FoundEntry[]>;
  /** Entries that have not ended, at most `most` of them, those that expire next first. */
  list(most: number): Promise<readonly FoundEntry[]>;
}

/** The idempotency key of the request that ends a reservation. */
export function endKeyOf(id: string): string {
  return `${id}:end`;
}
