import { HeadgateError } from "headgate";

/** The error that a call throws, for what it says: which field is at fault, and how it should be. */
export function refusal(call: () => unknown): { code: string; field: string; message: string } {
  try {
    call();
  } catch (error) {
    if (!(error instanceof HeadgateError)) throw error;
    return { code: error.code, field: error.field, message: error.message };
  }
  throw new Error("was not refused");
}
