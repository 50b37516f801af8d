import { setTimeout as delay } from "node:timers/promises";

/** Asks until the answer is yes. When the time is over, it fails with the last error as the cause. */
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
  throw new Error(`did not happen within ${timeoutMs} ms: ${what}`, { cause: last });
}
