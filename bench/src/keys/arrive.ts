import { loadSubject, NO_LIMITER } from "../subjects/registry.ts";
import type { Figures, Task } from "../suite.ts";
import { memoryInUse } from "./memory-in-use.ts";
import { arrive, MILLION, warmUp } from "./newcomers.ts";

/** Long enough that nothing expires during the measurement. */
const WINDOW_MS = 600_000;

export async function measureArrival({ subject }: Task): Promise<Figures> {
  const makeChecker = await loadSubject(subject);
  const before = memoryInUse();
  const checker = makeChecker({ limit: 1, windowMs: WINDOW_MS, maxKeys: MILLION + 1024 });
  await warmUp(checker);
  const pause = await arrive(checker);
  const bytes = memoryInUse() - before;
  // The limiter must stay reachable while memory is measured.
  await warmUp(checker);
  return subject === NO_LIMITER ? { "pause-arrive": pause } : { "1m": bytes / MILLION, "pause-arrive": pause };
}
