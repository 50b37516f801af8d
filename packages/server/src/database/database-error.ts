import { HeadgateError } from "headgate";

export type DatabaseErrorCode = Extract<HeadgateError["code"], `HG_DATABASE_${string}`>;

/**
 * A failure of the database, not a mistake of the caller. Nothing was changed, with one exception: if the connection
 * broke between a commit and its acknowledgement (HG_DATABASE_UNREACHABLE), the outcome is unknown.
 */
export class DatabaseError extends HeadgateError {
  override readonly name: string = "DatabaseError";
  override readonly code: DatabaseErrorCode;

  constructor(code: DatabaseErrorCode, problem: string, options?: ErrorOptions) {
    super(code, "database", problem, options);
    this.code = code;
  }
}
