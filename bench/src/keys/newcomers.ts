import { setImmediate as nextTurn } from "node:timers/promises";
import { undisturbedNow } from "../run/undisturbed-time.ts";
import type { Checker } from "../subjects/subject.ts";
import { KeyStrings } from "../traffic/key-strings.ts";

export const MILLION = 1_000_000;
/** As many as a busy server may find waiting in one turn. */
const KEYS_PER_TURN = 100;
const WARM_UP_KEYS = 200;

/** Compiles the check before it is measured, as on a server that has been up for a while. */
export async function warmUp(checker: Checker): Promise<void> {
  for (let i = 0; i < WARM_UP_KEYS; i += 1) await check(checker, `warm-up:${i}`);
  await nextTurn();
}

/** A million new keys, some in each turn of the event loop. Returns the longest turn in ms. */
export async function arrive(checker: Checker): Promise<number> {
  const strings = new KeyStrings(MILLION);
  let longest = 0;
  let turnBegan = undisturbedNow();
  for (let i = 0; i < MILLION; i += 1) {
    const key = strings.make(i);
    // Awaiting a value that is not a promise would add a microtask per check.
    if (checker.kind === "sync") checker.check(key);
    else await checker.check(key);
    if (i % KEYS_PER_TURN !== KEYS_PER_TURN - 1) continue;
    await nextTurn();
    const now = undisturbedNow();
    longest = Math.max(longest, now - turnBegan);
    turnBegan = now;
  }
  return longest;
}

/** Makes a check and ignores the result. */
export async function check(checker: Checker, key: string): Promise<void> {
  if (checker.kind === "sync") {
    checker.check(key);
    return;
  }
  try {
    await checker.check(key);
  } catch (reason) {
    if (reason instanceof Error) throw reason;
  }
}
