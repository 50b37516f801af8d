import { shown } from "../errors.ts";

/**
 * What was thrown, as an error. Frameworks take what is none, such as `undefined`, for leave to go on: thrown by a
 * function of the program, it would open the gate.
 */
export function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(`a gate failed with ${shown(reason)}`, { cause: reason });
}
