import { DatabaseError, type DatabaseErrorCode } from "./database-error.ts";

/** Converts an error of the driver or the server. `place` is the URL without secrets. */
export function postgresError(error: unknown, place: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error);
  const said = error instanceof Error && error.message !== "" ? error.message : (sqlStateOf(error) ?? String(error));
  return new DatabaseError(code, `${place}: ${adviceOn[code]} (${said})`, { cause: error });
}

/** Whether the connection was lost. */
export function isConnectionLost(error: unknown): boolean {
  return codeOf(error) === "HG_DATABASE_UNREACHABLE";
}

/** The SQLSTATE, if the error comes from the server. */
function sqlStateOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

const adviceOn: Record<DatabaseErrorCode, string> = {
  HG_DATABASE_LOCKED: "another transaction holds a lock: look for long transactions in pg_stat_activity",
  HG_DATABASE_UNREACHABLE: "unreachable: check that it is running, and its host and port",
  HG_DATABASE_REFUSED:
    "access denied: check the user, the password, the name of the database, and the permissions of the user",
  HG_DATABASE_READ_ONLY: "read-only: use the URL of the primary, not of a replica",
  HG_DATABASE_FULL: "the disk is full: free some space; nothing was changed",
  HG_DATABASE_CORRUPT: "the files are damaged: restore a backup",
  HG_DATABASE_NEWER_SCHEMA: "a newer version of Headgate has changed the tables: start that version",
  HG_DATABASE_CLOSED: "closed",
  HG_DATABASE_FAILED: "failed",
};

/** By SQLSTATE or its class, the first two characters. */
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
  // Without a code of the server, the error comes from the driver and concerns the connection.
  if (state === undefined) return "HG_DATABASE_UNREACHABLE";
  return codesOfPostgres[state] ?? codesOfPostgres[state.slice(0, 2)] ?? "HG_DATABASE_FAILED";
}
