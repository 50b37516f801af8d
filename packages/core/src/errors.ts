/** All error codes with their meaning. `docs/guide/errors.md` is compared with this table by a test. */
export const errorCodes = {
  HG_BAD_RATE: "a rate is not written as in 100/m",
  HG_BAD_LIMIT: "a limit has a field that is missing, unknown or out of range",
  HG_BAD_RULES: "the rules of a limiter cannot be used as they are",
  HG_BAD_OPTION: "an option is unknown or out of range",
  HG_BAD_COST: "a cost is not a whole number from 0 to 2^53 - 1",
  HG_BAD_KEY: "a key is not a string",
  HG_BAD_TIME: "a time is not a number within 2^53 microseconds of the epoch",
  HG_BAD_CHECKS: "a list of checks is empty, has duplicates, or is not a list of checks",
  HG_UNKNOWN_RULE: "a check names a rule that the limiter does not have",
  HG_NOT_A_QUEUE: "schedule was called on a rule that is not a leaky bucket",
  HG_NOT_RESERVED: "settle was called on a request for which nothing was reserved",
  HG_IDEMPOTENCY_CONFLICT: "an idempotency key was used before, for another request",
  HG_KEYS_APART: "a request has keys that a cluster keeps on different servers",
  HG_STORE_TIMEOUT: "a store did not answer in time",
  HG_STORE_UNREACHABLE: "a store cannot be reached",
  HG_STORE_REFUSED: "a store answered with an error of its own",
} as const;

/** The code of a `HeadgateError`. */
export type ErrorCode = keyof typeof errorCodes;

/**
 * Thrown when Headgate is called incorrectly. Being over a limit is not an error but a decision with `allowed: false`.
 */
export class HeadgateError extends Error {
  override readonly name: string = "HeadgateError";
  readonly code: ErrorCode;
  /** The argument, option or field at fault, as the caller wrote it. */
  readonly field: string;

  constructor(code: ErrorCode, field: string, problem: string, options?: ErrorOptions) {
    super(`${field}: ${problem}`, options);
    this.code = code;
    this.field = field;
  }
}

/** The code of a `StoreError`. */
export type StoreErrorCode = Extract<ErrorCode, `HG_STORE_${string}`>;

/** Thrown when a store fails. `resilient` handles these errors and no others. */
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
