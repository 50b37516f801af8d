import { DatabaseError, type DatabaseErrorCode } from "./database-error.ts";

/** What an error of the driver or of the server means. `place` is the URL without what is secret in it. */
export function postgresError(error: unknown, place: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error);
  const said = error instanceof Error && error.message !== "" ? error.message : (sqlStateOf(error) ?? String(error));
  return new DatabaseError(code, `${place}: ${adviceOn[code]} (${said})`, { cause: error });
}

/** Whether the connection is of no use any more. */
export function isConnectionLost(error: unknown): boolean {
  return codeOf(error) === "HG_DATABASE_UNREACHABLE";
}

/** The server's own code, if it was the server that spoke. */
function sqlStateOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

const adviceOn: Record<DatabaseErrorCode, string> = {
  HG_DATABASE_LOCKED: "another transaction is in the way: look for long ones in pg_stat_activity",
  HG_DATABASE_UNREACHABLE: "it cannot be reached: check that it runs, and its host and port",
  HG_DATABASE_REFUSED:
    "it refuses: check the user, the password, the name of the database, and the user's rights in it",
  HG_DATABASE_READ_ONLY: "it cannot be written: give the URL of the primary, not of a replica",
  HG_DATABASE_FULL: "there is no room left: free some on its disk; nothing was changed",
  HG_DATABASE_CORRUPT: "its files are damaged: restore a backup",
  HG_DATABASE_NEWER_SCHEMA: "a newer version of Headgate has changed it: start that version",
  HG_DATABASE_CLOSED: "it was closed",
  HG_DATABASE_FAILED: "it answered with an error",
};

/** By the code or its class, its first two characters. */
const codesOfPostgres: Readonly<Record<string, DatabaseErrorCode>> = {
  "08": "HG_DATABASE_UNREACHABLE",
  "57P01": "HG_DATABASE_UNREACHABLE",
  "57P02": "HG_DATABASE_UNREACHABLE",
  "57P03": "HG_DATABASE_UNREACHABLE",
  "57P05": "HG_DATABASE_UNREACHABLE",
  "53300": "HG_DATABASE_UNREACHABLE",
  "28": "HG_DATABASE_REFUSED",
  "3D000": "HG_DATABASE_REFUSED",
  "42501": "HG_DATABASE_REFUSED",
  "25006": "HG_DATABASE_READ_ONLY",
  "53100": "HG_DATABASE_FULL",
  XX001: "HG_DATABASE_CORRUPT",
  XX002: "HG_DATABASE_CORRUPT",
  "40P01": "HG_DATABASE_LOCKED",
  "55P03": "HG_DATABASE_LOCKED",
  "57014": "HG_DATABASE_LOCKED",
};

function codeOf(error: unknown): DatabaseErrorCode {
  const state = sqlStateOf(error);
  // Whatever the server did not say is said by the driver, and is about the connection.
  if (state === undefined) return "HG_DATABASE_UNREACHABLE";
  return codesOfPostgres[state] ?? codesOfPostgres[state.slice(0, 2)] ?? "HG_DATABASE_FAILED";
}
