import { undisturbedNow } from "../run/undisturbed-time.ts";
import type { AsyncChecker } from "../subjects/subject.ts";
import type { KeyStrings } from "../traffic/key-strings.ts";

/** Checks between two clock readings: few enough to stop in time, and many enough to be negligible. */
const STRETCH = 256;
const BATCH = 64;

/** The keys to check, and the position in their sequence. */
export interface KeyFlow {
  readonly keys: readonly string[];
  /** Its length is a power of two and a multiple of a stretch. */
  readonly sequence: Uint32Array;
  /** Creates each key as a new string, if not taken from `keys`. */
  readonly strings: KeyStrings | undefined;
  at: number;
}

export interface Rate {
  readonly perSecond: number;
  readonly allowedShare: number;
}

type Check = (key: string) => boolean;

/** Makes one stretch of checks, starting at a position in the sequence. Returns the number allowed. */
export type Stretch = (from: number) => number;

// One loop per way of getting a key: a loop that branches would be slower than what it measures.

export function storedKeys(check: Check, { keys, sequence }: KeyFlow): Stretch {
  return (from) => {
    let allowed = 0;
    for (let i = from; i < from + STRETCH; i += 1) if (check(keys[sequence[i]])) allowed += 1;
    return allowed;
  };
}

export function freshKeys(check: Check, strings: KeyStrings, { sequence }: KeyFlow): Stretch {
  return (from) => {
    let allowed = 0;
    for (let i = from; i < from + STRETCH; i += 1) if (check(strings.make(sequence[i]))) allowed += 1;
    return allowed;
  };
}

export function batchedKeys(checkMany: (keys: readonly string[]) => number, { keys, sequence }: KeyFlow): Stretch {
  const batch = new Array<string>(BATCH).fill("");
  return (from) => {
    let allowed = 0;
    for (let i = from; i < from + STRETCH; i += BATCH) {
      for (let j = 0; j < BATCH; j += 1) batch[j] = keys[sequence[i + j]];
      allowed += checkMany(batch);
    }
    return allowed;
  };
}

/** Without any await, because a limiter may save work within one run of synchronous code. */
export function rate(stretch: Stretch, flow: KeyFlow, ms: number): Rate {
  const start = undisturbedNow();
  const end = performance.now() + ms;
  let checks = 0;
  let allowed = 0;
  do {
    allowed += stretch(flow.at);
    checks += STRETCH;
    flow.at = (flow.at + STRETCH) % flow.sequence.length;
  } while (performance.now() < end);
  return rateOf(checks, allowed, undisturbedNow() - start);
}

export async function rateAwaited(checker: AsyncChecker, flow: KeyFlow, ms: number): Promise<Rate> {
  const { keys, sequence, strings } = flow;
  const start = undisturbedNow();
  const end = performance.now() + ms;
  let checks = 0;
  let allowed = 0;
  do {
    for (let i = flow.at; i < flow.at + STRETCH; i += 1) {
      const key = strings === undefined ? keys[sequence[i]] : strings.make(sequence[i]);
      try {
        if (checker.allowed(await checker.check(key))) allowed += 1;
      } catch (reason) {
        if (reason instanceof Error) throw reason;
      }
    }
    checks += STRETCH;
    flow.at = (flow.at + STRETCH) % sequence.length;
  } while (performance.now() < end);
  return rateOf(checks, allowed, undisturbedNow() - start);
}

function rateOf(checks: number, allowed: number, elapsedMs: number): Rate {
  return { perSecond: (1000 * checks) / elapsedMs, allowedShare: allowed / checks };
}
