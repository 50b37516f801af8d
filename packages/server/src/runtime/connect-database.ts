import { setTimeout as delay } from "node:timers/promises";
import type { Settings } from "../config/settings.ts";
import type { Database } from "../database/database.ts";
import { DatabaseError } from "../database/database-error.ts";
import { openDatabase } from "../database/open-database.ts";
import type { Log } from "./log.ts";

const RETRY_MS = 1_000;
/** How often to log that the node is still waiting. */
const REPORT_MS = 60_000;

/** Error codes of a server that may become available later. */
const PASSING_CODES =
  /^(E(CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN|TIMEDOUT|PIPE)|57P0\d|53300|08.{3})$/;
const PASSING_MESSAGES = /timeout|terminated/i;

/**
 * Opens the database, and waits for a PostgreSQL that cannot be reached yet: without rules and keys a node cannot serve
 * requests. `onWait` is called once, before it waits. A server that rejects the node ends the start, because waiting
 * does not change that.
 */
export async function reachDatabase(
  settings: Pick<Settings, "postgres" | "data">,
  log: Log,
  onWait: () => Promise<void> = async () => {},
): Promise<Database> {
  let reported: number | undefined;
  for (;;) {
    try {
      const database = await openDatabase(settings);
      if (reported !== undefined) log.info("PostgreSQL is reachable: the node starts");
      return database;
    } catch (error) {
      if (settings.postgres === undefined || !mayPass(error)) throw error;
      if (reported === undefined) await onWait();
      if (reported === undefined || performance.now() - reported >= REPORT_MS) {
        reported = performance.now();
        log.error(
          { code: error.code, err: error },
          "PostgreSQL is unreachable: the node retries every second, and answers requests with 503 until then",
        );
      }
      await delay(RETRY_MS);
    }
  }
}

function mayPass(error: unknown): error is DatabaseError {
  if (!(error instanceof DatabaseError) || error.code !== "HG_DATABASE_UNREACHABLE") return false;
  const { cause } = error;
  if (!(cause instanceof Error)) return false;
  return ("code" in cause && PASSING_CODES.test(String(cause.code))) || PASSING_MESSAGES.test(cause.message);
}
