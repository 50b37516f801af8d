import {
  bucketedWindow,
  fixedWindow,
  gcra,
  type Limit,
  leakyBucket,
  type Rate,
  slidingWindow,
  slidingWindowLog,
  tokenBucket,
} from "../../src/index.ts";

/** Every kind of limit, made of one rate. */
export const kinds: readonly [name: string, make: (rate: Rate) => Limit][] = [
  ["token_bucket", (rate) => tokenBucket(rate)],
  ["leaky_bucket", (rate) => leakyBucket(rate)],
  ["gcra", (rate) => gcra(rate)],
  ["fixed_window", (rate) => fixedWindow(rate)],
  ["fixed_window by the request", (rate) => fixedWindow(rate, { anchor: "request" })],
  ["sliding_window_log", (rate) => slidingWindowLog(rate)],
  ["sliding_window_counter", (rate) => slidingWindow(rate)],
  ["bucketed_window", (rate) => bucketedWindow(rate)],
];
