/** What the process answers with; docs/guide/command-line.md lists them. */
export const exitCodes = { done: 0, invalid: 1, notFound: 2, denied: 3, differs: 3 } as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The user's mistake: told in one line, without a stack. */
export class InvalidInput extends Error {
  readonly exitCode: ExitCode = exitCodes.invalid;
}

export class FileNotFound extends InvalidInput {
  override readonly exitCode = exitCodes.notFound;
}

/** The line that a failure is told in, and the exit code that goes with it. */
export function told(error: unknown): { line: string; exitCode: ExitCode } {
  const message = error instanceof Error ? error.message : String(error);
  return { line: `headgate: ${oneLine(message)}\n`, exitCode: error instanceof InvalidInput ? error.exitCode : 1 };
}

// Messages quote what was read, which may hold line breaks or codes that a terminal would obey.
function oneLine(message: string): string {
  return message.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
