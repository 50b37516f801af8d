import type { Kysely, Transaction } from "kysely";
import type { DatabaseError } from "./database-error.ts";
import type { Tables } from "./tables.ts";

/** What SQLite and PostgreSQL do each in their own way. */
export interface Engine {
  readonly db: Kysely<Tables>;
  /** How often the changes of other processes are looked for. */
  readonly pollMs: number;
  /**
   * Runs a transaction. Its work may run more than once, and only the last run counts.
   * `alone`: no other such transaction runs in any process until it is over.
   */
  transaction<Result>(work: (db: Transaction<Tables>) => Promise<Result>, options: { alone: boolean }): Promise<Result>;
  /** Tells other nodes, when the transaction is done, that there are changes to read. */
  announce(db: Transaction<Tables>): Promise<void>;
  /** `wake` when another node has announced changes, `lost` when announcements may have been missed. */
  listen(heard: { readonly wake: () => void; readonly lost: () => void }): void;
  /** Runs any number of queries on one snapshot, without blocking others however long it takes. */
  snapshot<Result>(questions: (db: Kysely<Tables>) => Promise<Result>): Promise<Result>;
  /** Runs a question to the database, again if it is one that passes. */
  ask<Result>(question: () => Promise<Result>): Promise<Result>;
  /** Fails if the database is not the one that was opened. */
  ping(): Promise<void>;
  /** What the driver's error means. */
  errorOf(error: unknown): DatabaseError;
  close(): Promise<void>;
}
