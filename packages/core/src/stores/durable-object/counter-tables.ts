import { rowsNameOf } from "../../algorithms/lookup.ts";
import { StoreError } from "../../errors.ts";
import type { Limit } from "../../limits/limit.ts";
import { type Answer, counterOf, limitOf, type Operation } from "../store.ts";
import { WrittenRow } from "../written-row.ts";

/** What the store uses of a Durable Object's storage. */
export interface DurableObjectStorage {
  readonly sql: {
    exec(query: string, ...bindings: (string | number | ArrayBuffer)[]): Iterable<Record<string, unknown>>;
  };
  transactionSync<Result>(write: () => Result): Result;
}

/** The answers to a request with an idempotency key. */
interface Answered {
  readonly id: string;
  readonly request: string;
  readonly answers: readonly Answer[];
  /** Until when it is remembered. */
  readonly until: number;
}

/** The most rows that are deleted at once, so that a purge never takes long. */
const DELETED_AT_ONCE = 1_000;

/** Numbers per stored answer. */
const ANSWER_CELLS = 5;

// No index on `expires`: Cloudflare bills each index as another row written.
const TABLES = [
  "CREATE TABLE IF NOT EXISTS headgate_rows (name TEXT PRIMARY KEY, cells BLOB NOT NULL, expires REAL NOT NULL) WITHOUT ROWID",
  "CREATE TABLE IF NOT EXISTS headgate_requests (name TEXT PRIMARY KEY, request TEXT NOT NULL, answers BLOB NOT NULL, expires REAL NOT NULL) WITHOUT ROWID",
];

/** Two tables of a Durable Object: one with a row per counter and key, one with the requests to remember. */
export class CounterTables {
  private readonly storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.storage = storage;
    for (const table of TABLES) this.run(table);
  }

  row(name: string, limit: Limit, now: number): StoredRow {
    const [found] = this.run("SELECT cells, expires FROM headgate_rows WHERE name = ?", name);
    if (found === undefined) return new StoredRow(name, limit, undefined, now);
    const { cells, expires } = found;
    const row = new StoredRow(name, limit, numbersIn(cells), Number(expires));
    if (row.before.length < row.algorithm.blank.length) throw unusable(name);
    return row;
  }

  answered(id: string, now: number): Answered | undefined {
    const [found] = this.run("SELECT request, answers, expires FROM headgate_requests WHERE name = ?", id);
    const { request, answers, expires } = found ?? {};
    const until = Number(expires);
    if (found === undefined || now >= until) return undefined;
    return { id, request: String(request), answers: answersIn(numbersIn(answers)), until };
  }

  /** Writes everything or, if that fails, nothing. */
  write(rows: readonly StoredRow[], now: number, answered: Answered | undefined): void {
    this.attempt(() =>
      this.storage.transactionSync(() => {
        for (const row of rows) {
          const put = "INSERT OR REPLACE INTO headgate_rows (name, cells, expires) VALUES (?, ?, ?)";
          this.run(put, row.name, bytesOf(row.cells), row.expiresFrom(now));
        }
        if (answered === undefined) return;
        const { id, request, answers, until } = answered;
        const put = "INSERT OR REPLACE INTO headgate_requests (name, request, answers, expires) VALUES (?, ?, ?, ?)";
        this.run(put, id, request, bytesOf(Float64Array.from(answers.flatMap(cellsOf))), until);
      }),
    );
  }

  purge(now: number): { deleted: number; left: number } {
    const before = this.size();
    for (const table of ["headgate_rows", "headgate_requests"]) {
      const expired = `SELECT name FROM ${table} WHERE expires <= ? LIMIT ${DELETED_AT_ONCE}`;
      this.run(`DELETE FROM ${table} WHERE name IN (${expired})`, now);
    }
    const left = this.size();
    return { deleted: before - left, left };
  }

  private size(): number {
    const count = "SELECT (SELECT count(*) FROM headgate_rows) + (SELECT count(*) FROM headgate_requests) AS size";
    const [{ size }] = this.run(count);
    return Number(size);
  }

  private run(query: string, ...bindings: (string | number | ArrayBuffer)[]): Record<string, unknown>[] {
    return this.attempt(() => [...this.storage.sql.exec(query, ...bindings)]);
  }

  private attempt<Result>(act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new StoreError("HG_STORE_REFUSED", `the storage of the Durable Object failed: ${message}`, {
        cause: error,
      });
    }
  }
}

/** The row of one counter and key. */
export class StoredRow extends WrittenRow {
  readonly name: string;
  private readonly expiredBefore: number;

  constructor(name: string, limit: Limit, read: Float64Array | undefined, expires: number) {
    super(limit, read);
    this.name = name;
    this.expiredBefore = expires;
  }

  /** Another limit may have given the row a longer life. */
  expiresFrom(now: number): number {
    return Math.max(now, this.expiredBefore, this.blankFrom);
  }
}

/** The name of a row. JSON escapes what SQLite cannot store in a text, such as lone surrogates. */
export function rowName(operation: Operation): string {
  return JSON.stringify([counterOf(operation.rule), rowsNameOf(limitOf(operation)), operation.key]);
}

function cellsOf({ time, allowed, remaining, retryAfter, resetAfter }: Answer): number[] {
  return [time, allowed ? 1 : 0, remaining, retryAfter, resetAfter];
}

function answersIn(cells: Float64Array): Answer[] {
  return Array.from({ length: cells.length / ANSWER_CELLS }, (_, i) => {
    const [time, allowed, remaining, retryAfter, resetAfter] = cells.subarray(i * ANSWER_CELLS);
    return { time, allowed: allowed === 1, remaining, retryAfter, resetAfter, source: "store", degraded: false };
  });
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): ArrayBuffer {
  return new Uint8Array(buffer, byteOffset, byteLength).slice().buffer;
}

function numbersIn(bytes: unknown): Float64Array {
  return bytes instanceof ArrayBuffer && bytes.byteLength % 8 === 0 ? new Float64Array(bytes) : new Float64Array();
}

function unusable(name: string): StoreError {
  return new StoreError("HG_STORE_REFUSED", `the row ${name} does not contain what the store wrote`, { scope: "key" });
}
