import type { AlgorithmName } from "../limit/limit.ts";
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
