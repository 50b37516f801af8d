import type { AlgorithmName, Limit } from "../limits/limit.ts";
import type { Algorithm } from "./algorithm.ts";
import { bucketedWindow } from "./bucketed-window/bucketed-window.ts";
import { fixedWindow } from "./fixed-window/fixed-window.ts";
import { gcra } from "./gcra/gcra.ts";
import { leakyBucket } from "./leaky-bucket/leaky-bucket.ts";
import { slidingWindowCounter } from "./sliding-window-counter/sliding-window-counter.ts";
import { slidingWindowLog } from "./sliding-window-log/sliding-window-log.ts";
import { tokenBucket } from "./token-bucket/token-bucket.ts";

export const algorithms: Readonly<Record<AlgorithmName, Algorithm>> = {
  token_bucket: tokenBucket,
  leaky_bucket: leakyBucket,
  gcra,
  fixed_window: fixedWindow,
  sliding_window_log: slidingWindowLog,
  sliding_window_counter: slidingWindowCounter,
  bucketed_window: bucketedWindow,
};

/** What decides by a limit. */
export function algorithmOf(limit: Limit): Algorithm {
  const algorithm = algorithms[limit.algorithm];
  return limit.coarse ? (algorithm.coarse ?? algorithm) : algorithm;
}
