import { accessSync, closeSync, constants, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Kysely as Connection, Transaction } from "kysely";
import Sqlite from "libsql";
import { DatabaseError, type DatabaseErrorCode } from "./database-error.ts";
import { Kysely, SqliteAdapter, SqliteDialect, SqliteDriver, sql } from "./kysely.ts";
import { migrate } from "./migrations.ts";
import type { Engine } from "./sql-dialect.ts";
import type { Tables } from "./tables.ts";

/** How long to wait for another process that has locked the file. */
const PATIENCE_MS = 5_000;

/** Opens the database in a folder, creating both if they are missing. */
export async function openSqlite(folder: string): Promise<Engine> {
  const path = join(folder, "headgate.db");
  try {
    return await patiently(async () => {
      // A new one each time: see FileDriver for what a locked file leaves behind in a connection.
      const engine = new SqliteEngine(path);
      try {
        await engine.prepare();
        return engine;
      } catch (error) {
        await engine.close();
        throw error;
      }
    });
  } catch (error) {
    throw errorOf(error, path);
  }
}

/** Retries while another process has locked the file, up to a limit. */
async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error;
    }
    await delay(2 + Math.random() * 20);
  }
}

/** Creates parent folders too. Node's recursive option never ends where folders cannot be created, as in /proc. */
function makeFolder(path: string, isLastTry = false): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process may have been faster.
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || isLastTry || dirname(path) === path) throw error;
    makeFolder(dirname(path));
    makeFolder(path, true);
  }
}

/**
 * Creates the file for the owner only, because it contains the audit log and permissions. SQLite gives its other files
 * the same mode. An existing file is not touched: closing it would release the locks of other connections of this
 * process, and two processes could then write at once.
 */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // SQLite would only report that it cannot be opened.
    accessSync(path, constants.R_OK | constants.W_OK);
  }
}

class SqliteEngine implements Engine {
  readonly db: Connection<Tables>;
  readonly pollMs = 300;
  private readonly path: string;
  private readonly file: Sqlite.Database;
  /** A second connection for long queries, because queries on one connection wait for each other. */
  private readonly reader: Sqlite.Database;
  private readonly readerDb: Connection<Tables>;
  /** Identifies the file: after it is removed or replaced, writes to the open file would be lost. */
  private readonly inode: bigint;

  constructor(path: string) {
    this.path = path;
    makeFolder(dirname(path));
    makeFile(path);
    this.inode = inodeOf(path);
    this.file = new Sqlite(path);
    this.db = new Kysely<Tables>({ dialect: new FileDialect(this.file, "begin immediate") });
    this.reader = new Sqlite(path);
    this.readerDb = new Kysely<Tables>({ dialect: new FileDialect(this.reader, "begin") });
  }

  async prepare(): Promise<void> {
    // The driver would block the only thread while waiting. Fail at once instead, and retry.
    this.file.pragma("busy_timeout = 0");
    this.file.pragma("journal_mode = WAL");
    // Acknowledged changes survive a power failure.
    this.file.pragma("synchronous = FULL");
    this.file.pragma("foreign_keys = ON");
    this.reader.pragma("busy_timeout = 0");
    await migrate(this.db, sql`text`);
    // SQLite opens its other files with the first query; later they may be gone.
    await sql`select 1 from headgate_audit_chain`.execute(this.readerDb);
  }

  transaction<Result>(work: (db: Transaction<Tables>) => Promise<Result>): Promise<Result> {
    return patiently(async () => {
      this.requireFile();
      return this.db.transaction().execute(work);
    });
  }

  /** Other processes poll. */
  async announce(): Promise<void> {}

  listen(): void {}

  snapshot<Result>(questions: (db: Connection<Tables>) => Promise<Result>): Promise<Result> {
    return patiently(() => this.readerDb.transaction().execute(questions));
  }

  ask<Result>(question: () => Promise<Result>): Promise<Result> {
    return patiently(question);
  }

  async ping(): Promise<void> {
    this.requireFile();
    await sql`select 1 from headgate_audit_chain`.execute(this.db);
  }

  errorOf(error: unknown): DatabaseError {
    return errorOf(error, this.path);
  }

  async close(): Promise<void> {
    await Promise.all([this.db.destroy(), this.readerDb.destroy()]);
    // kysely closes only connections that it has used.
    for (const connection of [this.file, this.reader]) if (connection.open) connection.close();
  }

  private requireFile(): void {
    if (inodeOf(this.path) === this.inode) return;
    throw new DatabaseError(
      "HG_DATABASE_UNREACHABLE",
      `${this.path} was removed or replaced while it was open: put it back and restart this process`,
    );
  }
}

/**
 * How a transaction begins. Transactions that write take the write lock at once, so that none fails at its first write.
 */
type Beginning = "begin" | "begin immediate";

class FileDialect extends SqliteDialect {
  private readonly file: Sqlite.Database;
  private readonly beginning: Beginning;

  constructor(file: Sqlite.Database, beginning: Beginning) {
    super({ database: file });
    this.file = file;
    this.beginning = beginning;
  }

  override createDriver(): FileDriver {
    return new FileDriver(this.file, this.beginning);
  }

  override createAdapter(): TransactionalAdapter {
    return new TransactionalAdapter();
  }
}

/**
 * kysely's own adapter migrates without a transaction: partially if the process ends, and twice if two processes start.
 */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class FileDriver extends SqliteDriver {
  private readonly file: Sqlite.Database;
  private readonly beginning: Beginning;

  constructor(file: Sqlite.Database, beginning: Beginning) {
    super({ database: file });
    this.file = file;
    this.beginning = beginning;
  }

  // By exec: a prepared statement that fails because the file is locked counts as running until it is
  // garbage-collected, and no transaction can be committed meanwhile.
  override async beginTransaction(): Promise<void> {
    this.file.exec(this.beginning);
  }

  override async commitTransaction(): Promise<void> {
    this.file.exec("commit");
  }

  /** After some errors, such as a full disk, SQLite has already rolled back, and rejects a second rollback. */
  override async rollbackTransaction(): Promise<void> {
    if (this.file.inTransaction) this.file.exec("rollback");
  }
}

function inodeOf(path: string): bigint {
  return statSync(path, { bigint: true }).ino;
}

function isBusy(error: unknown): boolean {
  return codeOf(error) === "HG_DATABASE_LOCKED";
}

function errorOf(error: unknown, path: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error);
  const said = error instanceof Error ? error.message : String(error);
  return new DatabaseError(code, `${path}: ${adviceOn[code]} (${said})`, { cause: error });
}

const adviceOn: Record<DatabaseErrorCode, string> = {
  HG_DATABASE_LOCKED: `another process has held the lock for more than ${PATIENCE_MS / 1000} s: end that process or its transaction`,
  HG_DATABASE_UNREACHABLE: "cannot be opened or is missing: check the path and its folder",
  HG_DATABASE_REFUSED: "permission denied: check the owner and the mode of the file and its folder",
  HG_DATABASE_READ_ONLY:
    "read-only: check the mode of the file and its folder, and whether the disk is mounted read-only",
  HG_DATABASE_FULL: "the disk is full: free some space; nothing was changed, and reads still work",
  HG_DATABASE_CORRUPT: "damaged, or not an SQLite database: restore a backup",
  HG_DATABASE_NEWER_SCHEMA: "a newer version of Headgate has changed the tables: start that version",
  HG_DATABASE_CLOSED: "closed",
  HG_DATABASE_FAILED: "failed",
};

const codesOfSqlite: Readonly<Record<string, DatabaseErrorCode>> = {
  SQLITE_BUSY: "HG_DATABASE_LOCKED",
  SQLITE_LOCKED: "HG_DATABASE_LOCKED",
  SQLITE_CANTOPEN: "HG_DATABASE_UNREACHABLE",
  SQLITE_PERM: "HG_DATABASE_REFUSED",
  SQLITE_AUTH: "HG_DATABASE_REFUSED",
  SQLITE_READONLY: "HG_DATABASE_READ_ONLY",
  SQLITE_FULL: "HG_DATABASE_FULL",
  SQLITE_CORRUPT: "HG_DATABASE_CORRUPT",
  SQLITE_NOTADB: "HG_DATABASE_CORRUPT",
  ENOENT: "HG_DATABASE_UNREACHABLE",
  ENOTDIR: "HG_DATABASE_UNREACHABLE",
  EISDIR: "HG_DATABASE_UNREACHABLE",
  EEXIST: "HG_DATABASE_UNREACHABLE",
  EACCES: "HG_DATABASE_REFUSED",
  EPERM: "HG_DATABASE_REFUSED",
  EROFS: "HG_DATABASE_READ_ONLY",
  ENOSPC: "HG_DATABASE_FULL",
};

/** libsql's codes have a suffix (SQLITE_BUSY_RECOVERY); while opening a file, only the message contains the number. */
function codeOf(error: unknown): DatabaseErrorCode {
  if (!(error instanceof Error)) return "HG_DATABASE_FAILED";
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const family = code.startsWith("SQLITE_") ? code.split("_", 2).join("_") : code;
  if (Object.hasOwn(codesOfSqlite, family)) return codesOfSqlite[family];
  return error.message.startsWith("ConnectionFailed") ? "HG_DATABASE_UNREACHABLE" : "HG_DATABASE_FAILED";
}
