/** Exit codes of the process, documented in docs/guide/command-line.md. */
export const exitCodes = { done: 0, invalid: 1, notFound: 2, denied: 3, differs: 3 } as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A mistake by the user, reported in one line without a stack trace. */
export class InvalidInput extends Error {
  readonly exitCode: ExitCode = exitCodes.invalid;
}

export class FileNotFound extends InvalidInput {
  override readonly exitCode = exitCodes.notFound;
}

/** The line that reports an error, and its exit code. */
export function reported(error: unknown): { line: string; exitCode: ExitCode } {
  const message = error instanceof Error ? error.message : String(error);
  return { line: `headgate: ${oneLine(message)}\n`, exitCode: error instanceof InvalidInput ? error.exitCode : 1 };
}

// Messages quote input, which may contain line breaks or terminal control codes.
function oneLine(message: string): string {
  return message.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
