import { setTimeout as sleep } from "node:timers/promises";
import { undisturbedNow } from "../run/undisturbed-time.ts";
import { loadSubject, NO_LIMITER } from "../subjects/registry.ts";
import type { Checker } from "../subjects/subject.ts";
import type { Figures, Task } from "../suite.ts";
import { memoryInUse } from "./memory-in-use.ts";
import { arrive, check, MILLION, warmUp } from "./newcomers.ts";

const TICK_MS = 1;
const KNOWN_KEYS = 50;
/** Limiters that drop keys per window need two windows after the one in which a key arrived. */
const LIFETIMES_WATCHED = 3;

export async function measureExpiry({ subject, lifetimeMs }: Task): Promise<Figures> {
  const makeChecker = await loadSubject(subject);
  const before = memoryInUse();
  const start = performance.now();
  const checker = makeChecker({ limit: 1, windowMs: lifetimeMs, maxKeys: 2 * MILLION });
  await warmUp(checker);
  await arrive(checker);
  const pause = await watch(checker, start + LIFETIMES_WATCHED * lifetimeMs);
  const left = (memoryInUse() - before) / MILLION;
  await warmUp(checker);
  return subject === NO_LIMITER ? { "pause-expire": pause } : { "pause-expire": pause, "1m-expired": left };
}

/** Light traffic, for limiters that clean up as requests arrive. Returns how late the last timer was, in ms. */
async function watch(checker: Checker, end: number): Promise<number> {
  let longest = 0;
  let ticks = 0;
  let began = undisturbedNow();
  while (performance.now() < end) {
    await sleep(TICK_MS);
    const now = undisturbedNow();
    longest = Math.max(longest, now - began - TICK_MS);
    began = now;
    ticks += 1;
    await check(checker, `known:${ticks % KNOWN_KEYS}`);
    await check(checker, `new:${ticks}`);
  }
  return longest;
}
