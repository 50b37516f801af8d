import type { Kysely, Transaction } from "kysely";
import type { DatabaseError } from "./database-error.ts";
import type { Tables } from "./tables.ts";

/** What differs between SQLite and PostgreSQL. */
export interface Engine {
  readonly db: Kysely<Tables>;
  /** How often to look for changes of other processes. */
  readonly pollMs: number;
  /**
   * Runs a transaction. `work` may run more than once, and only the last run counts. `alone`: no other such transaction
   * runs in any process until it ends.
   */
  transaction<Result>(work: (db: Transaction<Tables>) => Promise<Result>, options: { alone: boolean }): Promise<Result>;
  /** Notifies other nodes after the commit that there are changes to read. */
  announce(db: Transaction<Tables>): Promise<void>;
  /** `wake` when another node has announced changes, `lost` when announcements may have been missed. */
  listen(heard: { readonly wake: () => void; readonly lost: () => void }): void;
  /** Runs any number of queries on one snapshot, without blocking others however long it takes. */
  snapshot<Result>(questions: (db: Kysely<Tables>) => Promise<Result>): Promise<Result>;
  /** Runs a query, and retries it after a transient failure. */
  ask<Result>(question: () => Promise<Result>): Promise<Result>;
  /** Throws if the database is not the one that was opened. */
  ping(): Promise<void>;
  /** Converts the driver's error. */
  errorOf(error: unknown): DatabaseError;
  close(): Promise<void>;
}
