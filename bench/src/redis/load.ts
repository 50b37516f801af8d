import { setImmediate as nextTurn } from "node:timers/promises";
import type { AsyncChecker } from "../subjects/subject.ts";

export interface Callers {
  readonly inFlight: number;
  nextKey(): string;
  /** Number of checks after which a caller yields to the event loop, which local answers would otherwise never do. */
  readonly checksPerTurn: number;
  took(ms: number): void;
}

export interface Tally {
  readonly checks: number;
  readonly allowed: number;
}

/**
 * Runs callers that each send the next check when the last one is answered, for some time, and until there were at least
 * so many checks.
 */
export async function load(checker: AsyncChecker, callers: Callers, ms: number, leastChecks = 0): Promise<Tally> {
  const { inFlight, checksPerTurn } = callers;
  const end = performance.now() + ms;
  let checks = 0;
  let allowed = 0;
  const caller = async () => {
    for (let turn = 1; ; turn += 1) {
      const begin = performance.now();
      if (begin >= end && checks >= leastChecks) return;
      try {
        if (checker.allowed(await checker.check(callers.nextKey()))) allowed += 1;
      } catch (reason) {
        if (reason instanceof Error) throw reason;
      }
      callers.took(performance.now() - begin);
      checks += 1;
      if (turn % checksPerTurn === 0) await nextTurn();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return { checks, allowed };
}
