import { onTestFinished } from "vitest";

/**
 * Does something when the current test is over, in the reverse order. A hook in a module that several test files import
 * would run only in the first of them: files that run together share their modules.
 */
export function finallyDo(end: () => unknown): void {
  onTestFinished(async () => {
    await end();
  });
}
