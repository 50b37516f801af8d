import { HeadgateError } from "headgate";
import { SqlKeys } from "./api-key-table.ts";
import { SqlAudit } from "./audit-table.ts";
import { AuditedDatabase } from "./audited-writes.ts";
import type { Database } from "./database.ts";
import { SqlDenied } from "./denied-table.ts";
import { SqlAnswered } from "./idempotency-table.ts";
import { SqlNodeReports } from "./node-report-table.ts";
import { replaceInThread } from "./replace-in-worker.ts";
import { purge } from "./retention.ts";
import { SqlRollups } from "./rollup-table.ts";
import { SqlRules } from "./rule-table.ts";
import { SqlUsers } from "./user-table.ts";

export interface DatabaseOptions {
  /** URL of PostgreSQL: `postgres://user:password@host:5432/name`. Takes precedence over `data`. */
  readonly postgres?: string | undefined;
  /** Folder of the embedded database; created if missing. */
  readonly data?: string | undefined;
  /** Whether large changes run in a worker thread, so that this one can serve requests. Default true. */
  readonly threads?: boolean;
}

/** Opens the database and migrates its tables. Throws a DatabaseError if it cannot. */
export async function openDatabase({ postgres, data, threads = true }: DatabaseOptions): Promise<Database> {
  const engine = await open();
  let audited: AuditedDatabase;
  try {
    audited = await AuditedDatabase.open(engine);
  } catch (error) {
    await engine.close();
    throw engine.errorOf(error);
  }
  return {
    rules: new SqlRules(audited, threads ? replaceInThread({ postgres, data }) : undefined),
    users: new SqlUsers(audited),
    keys: new SqlKeys(audited),
    audit: new SqlAudit(audited),
    rollups: new SqlRollups(audited),
    answered: new SqlAnswered(audited),
    denied: new SqlDenied(audited),
    nodes: new SqlNodeReports(audited),
    onChange: (listener) => audited.feed.onChange(listener),
    ping: () => audited.ping(),
    purge: (now, retentionMs) => purge(audited, now, retentionMs),
    close: () => audited.close(),
  };

  async function open() {
    // A driver is loaded only if it is used.
    if (postgres !== undefined) return (await import("./postgres.ts")).openPostgres(postgres);
    if (data !== undefined) return (await import("./sqlite.ts")).openSqlite(data);
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "data",
      "is required unless `postgres` is given: the folder of the database",
    );
  }
}
