import { setTimeout as delay } from "node:timers/promises";

/** Asks again and again until the answer is yes; what it failed with last is told when the time is over. */
export async function eventually(what: string, answer: () => Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  let last: unknown;
  while (performance.now() < end) {
    try {
      if (await answer()) return;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await delay(10);
  }
  throw new Error(`waited ${timeoutMs} ms in vain: ${what}`, { cause: last });
}
