import { definition as bucketedWindow } from "./bucketed-window/index.ts";
import { definition as concurrency } from "./concurrency/index.ts";
import { definition as fixedWindow } from "./fixed-window/index.ts";
import { definition as gcra } from "./gcra/index.ts";
import { definition as leakyBucket } from "./leaky-bucket/index.ts";
import { definition as slidingWindowCounter } from "./sliding-window-counter/index.ts";
import { definition as slidingWindowLog } from "./sliding-window-log/index.ts";
import { definition as tokenBucket } from "./token-bucket/index.ts";

export { bucketedWindow } from "./bucketed-window/index.ts";
export { concurrency } from "./concurrency/index.ts";
export { fixedWindow } from "./fixed-window/index.ts";
export { gcra } from "./gcra/index.ts";
export { leakyBucket } from "./leaky-bucket/index.ts";
export { slidingWindow } from "./sliding-window-counter/index.ts";
export { slidingWindowLog } from "./sliding-window-log/index.ts";
export { tokenBucket } from "./token-bucket/index.ts";

/** Every algorithm by its name, with its fields and traits. The first is the default of specifications. */
export const algorithms = {
  token_bucket: tokenBucket,
  leaky_bucket: leakyBucket,
  gcra,
  fixed_window: fixedWindow,
  sliding_window_log: slidingWindowLog,
  sliding_window_counter: slidingWindowCounter,
  bucketed_window: bucketedWindow,
  concurrency,
} as const;

/** The name of an algorithm, as used in files, APIs and databases. */
export type AlgorithmName = keyof typeof algorithms;
