import { shown } from "../errors.ts";

/**
 * Converts a thrown value to an Error. Frameworks treat values such as `undefined` as permission to continue, so a
 * function that throws one would bypass the limit.
 */
export function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(`the middleware failed with ${shown(reason)}`, { cause: reason });
}
