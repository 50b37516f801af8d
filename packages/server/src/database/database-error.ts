/** Every way in which the database fails, with what it means. `docs/service/storage.md` is checked against this table. */
export const databaseErrorCodes = {
  HG_DATABASE_LOCKED: "another process held the database for too long",
  HG_DATABASE_UNREACHABLE: "the database cannot be reached, or its file is gone",
  HG_DATABASE_REFUSED: "the database refuses the user, the password, the certificate or the right to do it",
  HG_DATABASE_READ_ONLY: "the database can be read and not written",
  HG_DATABASE_FULL: "there is no room left for the database",
  HG_DATABASE_CORRUPT: "the database's files are damaged, or are no database",
  HG_DATABASE_NEWER_SCHEMA: "a newer version of Headgate has changed the tables",
  HG_DATABASE_CLOSED: "the database was closed by this process",
  HG_DATABASE_FAILED: "the database answered with an error that is none of the others",
} as const;

export type DatabaseErrorCode = keyof typeof databaseErrorCodes;

/**
 * A database that failed, which is nobody's mistake. What was asked for was not done, with one exception: when the
 * connection broke between a commit and its answer (HG_DATABASE_UNREACHABLE), nobody here knows.
 */
export class DatabaseError extends Error {
  override readonly name: string = "DatabaseError";
  readonly code: DatabaseErrorCode;

  constructor(code: DatabaseErrorCode, problem: string, options?: ErrorOptions) {
    super(`database: ${problem}`, options);
    this.code = code;
  }
}
