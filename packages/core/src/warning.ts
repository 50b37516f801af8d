/** Warns of something that does not stop the program: through the process, or on the console where there is none. */
export function warn(code: string, message: string, cause?: unknown): void {
  const { process } = globalThis;
  // Workers and browsers have no process, or only a piece of one.
  if (typeof process?.emitWarning === "function") {
    process.emitWarning(message, {
      type: "HeadgateWarning",
      code,
      ...(cause === undefined ? {} : { detail: String(cause) }),
    });
  } else console.warn(`HeadgateWarning [${code}]: ${message}`, ...(cause === undefined ? [] : [cause]));
}
