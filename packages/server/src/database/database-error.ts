/** Every database error code and its meaning. `docs/service/storage.md` is checked against this table. */
export const databaseErrorCodes = {
  HG_DATABASE_LOCKED: "another process held the database for too long",
  HG_DATABASE_UNREACHABLE: "the database is unreachable, or its file is missing",
  HG_DATABASE_REFUSED: "the database rejected the user, the password, the certificate or the operation",
  HG_DATABASE_READ_ONLY: "the database is read-only",
  HG_DATABASE_FULL: "the disk of the database is full",
  HG_DATABASE_CORRUPT: "the database files are damaged, or are not a database",
  HG_DATABASE_NEWER_SCHEMA: "a newer version of Headgate has changed the tables",
  HG_DATABASE_CLOSED: "the database was closed by this process",
  HG_DATABASE_FAILED: "the database reported another error",
} as const;

export type DatabaseErrorCode = keyof typeof databaseErrorCodes;

/**
 * A failure of the database, not a mistake of the caller. Nothing was changed, with one exception: if the connection
 * broke between a commit and its acknowledgement (HG_DATABASE_UNREACHABLE), the outcome is unknown.
 */
export class DatabaseError extends Error {
  override readonly name: string = "DatabaseError";
  readonly code: DatabaseErrorCode;

  constructor(code: DatabaseErrorCode, problem: string, options?: ErrorOptions) {
    super(`database: ${problem}`, options);
    this.code = code;
  }
}
