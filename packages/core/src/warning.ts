import type { WarningCode } from "./errors.ts";

/** Emits a process warning, or writes to the console where there is no process. */
export function warn(code: WarningCode, message: string, cause?: unknown): void {
  const { process } = globalThis;
  // Workers and browsers have no `process`, or an incomplete one.
  if (typeof process?.emitWarning === "function") {
    process.emitWarning(message, {
      type: "HeadgateWarning",
      code,
      ...(cause === undefined ? {} : { detail: String(cause) }),
    });
  } else console.warn(`HeadgateWarning [${code}]: ${message}`, ...(cause === undefined ? [] : [cause]));
}
