import { setTimeout as delay } from "node:timers/promises";
import { Kysely, PostgresDialect, type PostgresPoolClient, sql, type Transaction } from "kysely";
import pg from "pg";
import type { DatabaseError } from "./database-error.ts";
import { migrate } from "./migrations.ts";
import { isConnectionLost, postgresError } from "./postgres-errors.ts";
import { PostgresListener } from "./postgres-listener.ts";
import { shownUrl } from "./postgres-url.ts";
import type { Engine } from "./sql-dialect.ts";
import type { Tables } from "./tables.ts";

const CHANNEL = "headgate_changes";

/** The advisory lock that the writers of all nodes take; any number that is otherwise unused. */
const WRITERS_LOCK = 0x6865_6164;

const CONNECT_MS = 5_000;
/** No statement but those of a migration takes nearly as long: one that does is waiting for a lock. */
const STATEMENT_MS = 10_000;
const FAREWELL_MS = 2_000;

/** Opens the database of a URL: the database itself is there already, the tables need not be. */
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
  readonly db: Kysely<Tables>;
  /** For when announcements do not come, as through a pooler that does not know them. */
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
      // A server that is frozen does not stop itself.
      query_timeout: STATEMENT_MS + 2_000,
    });
  }

  /** On a connection of its own without time limits: an index on a large table takes as long as it takes. */
  async migrate(): Promise<void> {
    const db = databaseOf({ ...this.#settings, max: 1 }, "set statement_timeout = 0");
    try {
      // Only bytes have one order in every locale.
      await migrate(db, sql`text collate "C"`);
    } finally {
      await farewell(db.destroy());
    }
  }

  transaction<Result>(
    work: (db: Transaction<Tables>) => Promise<Result>,
    { alone }: { readonly alone: boolean },
  ): Promise<Result> {
    return this.db.transaction().execute(async (db) => {
      // Acknowledged changes are on disk, whatever the server's default is.
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

  snapshot<Result>(questions: (db: Kysely<Tables>) => Promise<Result>): Promise<Result> {
    return this.db.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(questions);
  }

  ask<Result>(question: () => Promise<Result>): Promise<Result> {
    return question();
  }

  async ping(): Promise<void> {
    await sql`select 1 from headgate_audit_chain`.execute(this.db);
  }

  async close(): Promise<void> {
    await farewell(Promise.all([this.listener?.close(), this.db.destroy()]));
  }
}

/** A server that is frozen does not say goodbye. */
async function farewell(closed: Promise<unknown>): Promise<void> {
  await Promise.race([closed, delay(FAREWELL_MS, undefined, { ref: false })]);
}

/** `first` is run on each connection whenever it is taken from the pool. */
function databaseOf(settings: pg.PoolConfig, first?: string): Kysely<Tables> {
  const pool = new pg.Pool({
    ...settings,
    types: {
      getTypeParser: (oid, format) => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)),
    },
  });
  // A broken connection fails the query that is running on it, which is enough. Without these handlers
  // the process would end: the pool listens only to idle connections, and emits what it hears.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  const connect = async () => {
    const client = fragile(await pool.connect());
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

/** A connection of the pool that is given up once it has failed: what it is asked then would wait for a dead server again. */
function fragile(client: pg.PoolClient): PostgresPoolClient {
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
  // The other way to ask, by a cursor, is not ours.
  return { query: query as unknown as PostgresPoolClient["query"], release: () => client.release(lost !== undefined) };
}
