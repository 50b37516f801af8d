import { setTimeout as delay } from "node:timers/promises";
import type { Kysely as Connection, PostgresPoolClient, Transaction } from "kysely";
import pg from "pg";
import type { DatabaseError } from "./database-error.ts";
import { Kysely, PostgresDialect, sql } from "./kysely.ts";
import { migrate } from "./migrations.ts";
import { isConnectionLost, postgresError } from "./postgres-errors.ts";
import { PostgresListener } from "./postgres-listener.ts";
import { shownUrl } from "./postgres-url.ts";
import type { Engine } from "./sql-dialect.ts";
import type { Tables } from "./tables.ts";

const CHANNEL = "headgate_changes";

/** The advisory lock of the writers of all nodes; an arbitrary number. */
const WRITERS_LOCK = 0x6865_6164;

const CONNECT_MS = 5_000;
/** Only migrations take this long: any other statement that does is waiting for a lock. */
const STATEMENT_MS = 10_000;
const FAREWELL_MS = 2_000;

/** Opens the database of a URL. The database must exist; the tables are created. */
export async function openPostgres(url: string): Promise<Engine> {
  const engine = new PostgresEngine(url);
  try {
    await engine.migrate();
    return engine;
  } catch (error) {
    await engine.close();
    throw engine.errorOf(error);
  }
}

class PostgresEngine implements Engine {
  readonly db: Connection<Tables>;
  /** Fallback if notifications do not arrive, for example through a pooler that does not support them. */
  readonly pollMs = 500;
  readonly errorOf: (error: unknown) => DatabaseError;
  // Private, so that printing the database does not print the password.
  readonly #settings: pg.ClientConfig;
  private listener: PostgresListener | undefined;

  constructor(url: string) {
    const place = shownUrl(url);
    this.errorOf = (error) => postgresError(error, place);
    this.#settings = {
      connectionString: url,
      application_name: "headgate",
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
    };
    this.db = databaseOf({
      ...this.#settings,
      max: 10,
      statement_timeout: STATEMENT_MS,
      // A frozen server does not time out by itself.
      query_timeout: STATEMENT_MS + 2_000,
    });
  }

  /** On a separate connection without timeouts, because indexing a large table may take long. */
  async migrate(): Promise<void> {
    const db = databaseOf({ ...this.#settings, max: 1 }, "set statement_timeout = 0");
    try {
      // Only the order of bytes is the same in every locale.
      await migrate(db, sql`text collate "C"`);
    } finally {
      await closeWithin(db.destroy());
    }
  }

  transaction<Result>(
    work: (db: Transaction<Tables>) => Promise<Result>,
    { alone }: { readonly alone: boolean },
  ): Promise<Result> {
    return this.db.transaction().execute(async (db) => {
      // Acknowledged changes are on disk, whatever the server's default.
      const durable = sql`case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', true) end`;
      await sql`select ${durable}, ${alone ? sql`pg_advisory_xact_lock(${WRITERS_LOCK})` : sql`null`}`.execute(db);
      return work(db);
    });
  }

  async announce(db: Transaction<Tables>): Promise<void> {
    await sql`select pg_notify(${CHANNEL}, '')`.execute(db);
  }

  listen(heard: { readonly wake: () => void; readonly lost: () => void }): void {
    this.listener = new PostgresListener(this.#settings, CHANNEL, heard);
  }

  snapshot<Result>(questions: (db: Connection<Tables>) => Promise<Result>): Promise<Result> {
    return this.db.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(questions);
  }

  ask<Result>(question: () => Promise<Result>): Promise<Result> {
    return question();
  }

  async ping(): Promise<void> {
    await sql`select 1 from headgate_audit_chain`.execute(this.db);
  }

  async close(): Promise<void> {
    await closeWithin(Promise.all([this.listener?.close(), this.db.destroy()]));
  }
}

/** Does not wait for a frozen server to close the connection. */
async function closeWithin(closed: Promise<unknown>): Promise<void> {
  await Promise.race([closed, delay(FAREWELL_MS, undefined, { ref: false })]);
}

/** `first` runs on each connection when it is taken from the pool. */
function databaseOf(settings: pg.PoolConfig, first?: string): Connection<Tables> {
  const pool = new pg.Pool({
    ...settings,
    types: {
      getTypeParser: (oid, format) => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)),
    },
  });
  // A broken connection fails the query in progress, which is enough. Without these handlers the process would end: the
  // pool listens only to idle connections, and emits their errors.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  const connect = async () => {
    const client = discardedOnFailure(await pool.connect());
    try {
      if (first !== undefined) await client.query(first, []);
      return client;
    } catch (error) {
      client.release();
      throw error;
    }
  };
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: { connect, end: () => pool.end() } }) });
}

/** A connection that is discarded after a failure: further queries would wait for a dead server again. */
function discardedOnFailure(client: pg.PoolClient): PostgresPoolClient {
  let lost: unknown;
  const query = async (text: string, values: readonly unknown[]) => {
    if (lost !== undefined) throw lost;
    try {
      return await client.query(text, [...values]);
    } catch (error) {
      if (isConnectionLost(error)) lost = error;
      throw error;
    }
  };
  // Cursors are not used.
  return { query: query as unknown as PostgresPoolClient["query"], release: () => client.release(lost !== undefined) };
}
