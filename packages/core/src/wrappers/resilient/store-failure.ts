import { type ErrorCode, errorCodes, type StoreErrorCode } from "../../errors.ts";

/** How a store failed; `other` is an error that is not a `StoreError`. */
export type Failure = StoreErrorCode | "other";

/**
 * Classifies an error; undefined if it is a mistake of the caller. Compares codes, because each copy of the library has
 * its own classes.
 */
export function failureOf(error: unknown): Failure | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (!isErrorCode(code)) return "other";
  return isStoreErrorCode(code) ? code : undefined;
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCodes, code);
}

function isStoreErrorCode(code: ErrorCode): code is StoreErrorCode {
  return code.startsWith("HG_STORE_");
}
