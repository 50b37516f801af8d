/** Reserved quota that has not been settled yet. */
export interface JournalEntry {
  readonly id: string;
  /** Text recorded by the process that reserved it, so that another process can release it. */
  readonly text: string;
}

/**
 * A journal of reservations, kept in the store, so that other processes can release those of a process that died.
 * Releasing twice, or after settling, is prevented by idempotency keys, not by the journal.
 */
export interface ReservationJournal {
  /** Whether the store was closed. */
  readonly isClosed: boolean;
  add(entry: JournalEntry, forMs: number): Promise<void>;
  /** Extends reservations to `forMs` milliseconds from now. Returns the ids that still exist. */
  extend(ids: readonly string[], forMs: number): Promise<readonly string[]>;
  remove(ids: readonly string[]): Promise<void>;
  /**
   * Expired reservations, at most `most` of them. They stay until they are removed, since the process that releases one
   * may die, too.
   */
  overdue(most: number): Promise<readonly JournalEntry[]>;
}
