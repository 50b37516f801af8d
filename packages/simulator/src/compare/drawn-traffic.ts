import { Random } from "../traffic/random.ts";
import type { TimedCost } from "./compare-algorithms.ts";

export interface Drawing {
  /** Requests per second, one figure for each step. */
  readonly rates: readonly number[];
  readonly stepMs: number;
  /** When the first step begins, in microseconds since the epoch. Default 0. */
  readonly start?: number;
  /** Units of each request. Default 1. */
  readonly cost?: number;
  /** At equal distances (the default), or at random with this seed. */
  readonly seed?: number | undefined;
}

const MOST_REQUESTS = 1_000_000;

/** Requests of one key that follow a curve, such as one that a user has drawn. At most a million. */
export function drawnTraffic({ rates, stepMs, start = 0, cost = 1, seed }: Drawing): readonly TimedCost[] {
  const random = seed === undefined ? undefined : new Random(seed);
  const requests: TimedCost[] = [];
  const step = stepMs * 1000;
  // A request arrives whenever so many were due that the next gap is filled.
  let gap = random?.gap() ?? 1;
  for (const [i, rate] of rates.entries()) {
    const perMicrosecond = rate / 1_000_000;
    let at = 0;
    while (rate > 0 && requests.length < MOST_REQUESTS) {
      const needed = gap / perMicrosecond;
      if (at + needed > step) break;
      at += needed;
      requests.push({ time: start + Math.round(i * step + at), cost });
      gap = random?.gap() ?? 1;
    }
    gap -= (step - at) * perMicrosecond;
  }
  return requests;
}
