// Tests compare `docs/guide/errors.md` and, for `HG_DATABASE_…`, `docs/service/storage.md` with this table.
/** All error codes of the library and the service, with their meaning. */
export const errorCodes = {
  HG_BAD_RATE: "a rate is not written as in 100/m",
  HG_BAD_LIMIT: "a limit has a field that is missing, unknown or out of range",
  HG_BAD_RULES: "the rules of a limiter cannot be used as they are",
  HG_BAD_OPTION: "an option is unknown or out of range",
  HG_BAD_COST: "a cost is not a whole number from 0 to 2^53 - 1",
  HG_BAD_KEY: "a key is not a string",
  HG_BAD_TIME: "a time is not a number within 2^53 microseconds of the epoch",
  HG_BAD_CHECKS: "a list of checks is empty, has duplicates, or is not a list of checks",
  HG_UNKNOWN_RULE: "a check names a rule that the limiter does not have, or a settlement one that was not reserved",
  HG_NOT_A_QUEUE: "schedule was called on a rule that is not a leaky bucket",
  HG_NEEDS_SLOT: "a concurrency limit was checked, refunded or penalized instead of reserved",
  HG_NOT_CONCURRENT: "run was called on a rule that is not a concurrency limit",
  HG_NOT_RESERVED: "settle was called on a request for which nothing was reserved",
  HG_UNKNOWN_RESERVATION: "there is no reservation with this id, or it has expired",
  HG_RESERVATION_SETTLED: "a reservation was settled or released before, with other costs",
  HG_RESERVATION_LOST: "a reservation was not extended in time and has ended",
  HG_IDEMPOTENCY_CONFLICT: "an idempotency key was used before, for another request",
  HG_KEYS_APART: "a request has keys that a cluster keeps on different servers",
  HG_NOT_SUPPORTED: "a store does not support this call",
  HG_STORE_TIMEOUT: "a store did not answer in time",
  HG_STORE_UNREACHABLE: "a store cannot be reached",
  HG_STORE_REFUSED: "a store answered with an error of its own",
  HG_BAD_REQUEST: "a request to the service has a field that is missing or invalid",
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

/** All warning codes with their meaning, for the same page. */
export const warningCodes = {
  HG_DEGRADED: "a store is failing, and this process decides without it",
  HG_ON_DECISION_FAILED: "onDecision threw an error; decisions are not affected",
  HG_UNSAFE_CLIENT: "an ioredis client may charge a request twice or keep one waiting",
  HG_EVICTION: "Redis drops counters when its memory is full",
  HG_PROXY_NOT_TRUSTED: "a request has a forwarding header, but its sender is not a trusted proxy",
  HG_ALL_PROXIES_TRUSTED: "the framework trusts every proxy",
  HG_NO_CLIENT_ADDRESS: "a request has no client address",
  HG_NO_USER: "a request that is counted by user has none",
  HG_STORE_IGNORED: "the store failed, and a request passed unlimited",
  HG_JOURNAL_FAILED: "the journal of reservations cannot be written",
  HG_REFUND_LOST: "a refund could not be written to the store",
} as const;

/** The code of a process warning. */
export type WarningCode = keyof typeof warningCodes;

/** The code of a `HeadgateError`. */
export type ErrorCode = keyof typeof errorCodes;

/**
 * Thrown when Headgate is called incorrectly. Being over a limit is not an error but a decision with `allowed: false`.
 */
export class HeadgateError extends Error {
  override readonly name: string = "HeadgateError";
  /** What went wrong. Codes do not change between versions. */
  readonly code: ErrorCode;
  /** The argument, option or field at fault, as the caller wrote it. */
  readonly field: string;
  /** What is wrong with the field, and what to do: the message without the field. */
  readonly problem: string;

  constructor(code: ErrorCode, field: string, problem: string, options?: ErrorOptions) {
    super(`${field}: ${problem}`, options);
    this.code = code;
    this.field = field;
    this.problem = problem;
  }
}

/** The code of a `StoreError`. */
export type StoreErrorCode = Extract<ErrorCode, `HG_STORE_${string}`>;

/** Thrown when a store fails. Of all Headgate errors, `resilient` handles only these. */
export class StoreError extends HeadgateError {
  override readonly name: string = "StoreError";
  override readonly code: StoreErrorCode;
  /**
   * What failed: this request, all requests of a call (each with this error), or only requests for this key, which says
   * nothing about the store as a whole.
   */
  readonly scope: "request" | "call" | "key";

  constructor(
    code: StoreErrorCode,
    problem: string,
    { scope = "request", ...options }: ErrorOptions & { readonly scope?: StoreError["scope"] } = {},
  ) {
    super(code, "store", problem, options);
    this.code = code;
    this.scope = scope;
  }
}

/** Formats a value for an error message: short, and distinguishing "1" from 1. */
export function shown(value: unknown): string {
  if (typeof value === "string")
    return value.length > 40 ? `${JSON.stringify(value.slice(0, 40))}…` : JSON.stringify(value);
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
