import { requireOptions } from "../options.ts";
import { type Anchor, bucketWidth, type Limit, makeLimit, microseconds } from "./limit.ts";
import { parseRate, type Rate } from "./rate.ts";

/** Options of `tokenBucket`, `gcra` and `leakyBucket`. */
export interface BurstOptions {
  /** Units that can be used at once; for a leaky bucket, the length of its queue. Default: the limit. */
  readonly burst?: number | undefined;
}

/** Options of `fixedWindow`. */
export interface FixedWindowOptions {
  /**
   * `"clock"` (default) starts windows at multiples of their length since the epoch, in UTC; `"request"` starts a
   * window with the first admitted request.
   */
  readonly anchor?: Anchor | undefined;
}

/** Options of `bucketedWindow`. */
export interface BucketedWindowOptions {
  /** Width of a bucket in milliseconds. Default: 100, or a tenth of a window shorter than a second. */
  readonly bucketWidthMs?: number | undefined;
  /**
   * Store the exact time of each request: nothing is admitted early, but each admitted request takes memory. Default:
   * false.
   */
  readonly exact?: boolean | undefined;
}

/** A token bucket: refills at the rate and allows bursts. The first choice for an API. */
export function tokenBucket(rate: Rate, options: BurstOptions = {}): Limit<"token_bucket"> {
  requireLimitOptions(options, BURST);
  return makeLimit({ algorithm: "token_bucket", ...parseRate(rate), burst: options.burst });
}

/**
 * A leaky bucket: drains at the rate. Decisions say how long to delay a request so that traffic leaves evenly; see
 * `wait` and `schedule`.
 */
export function leakyBucket(rate: Rate, options: BurstOptions = {}): Limit<"leaky_bucket"> {
  requireLimitOptions(options, BURST);
  return makeLimit({ algorithm: "leaky_bucket", ...parseRate(rate), burst: options.burst });
}

/** GCRA: decides like `tokenBucket` and reports `remaining` in whole units. */
export function gcra(rate: Rate, options: BurstOptions = {}): Limit<"gcra"> {
  requireLimitOptions(options, BURST);
  return makeLimit({ algorithm: "gcra", ...parseRate(rate), burst: options.burst });
}

/**
 * A fixed window: counts units in consecutive windows. Cheap, but admits up to twice the limit around a window
 * boundary.
 */
export function fixedWindow(rate: Rate, options: FixedWindowOptions = {}): Limit<"fixed_window"> {
  requireLimitOptions(options, ANCHOR);
  return makeLimit({ algorithm: "fixed_window", ...parseRate(rate), anchor: options.anchor });
}

/** A sliding window counter: estimates a sliding window from two counters. Small and smooth, but not exact. */
export function slidingWindow(rate: Rate, options: Record<string, never> = {}): Limit<"sliding_window_counter"> {
  requireLimitOptions(options, NONE);
  return makeLimit({ algorithm: "sliding_window_counter", ...parseRate(rate) });
}

/**
 * A sliding window log: never admits more than the limit in any window, but stores the time of each admitted request.
 */
export function slidingWindowLog(rate: Rate, options: Record<string, never> = {}): Limit<"sliding_window_log"> {
  requireLimitOptions(options, NONE);
  return makeLimit({ algorithm: "sliding_window_log", ...parseRate(rate) });
}

/** A sliding window counted in buckets: bounded memory, but requests may be admitted up to one bucket width early. */
export function bucketedWindow(rate: Rate, options: BucketedWindowOptions = {}): Limit<"bucketed_window"> {
  requireLimitOptions(options, BUCKETS);
  const { limit, window } = parseRate(rate);
  const width =
    options.bucketWidthMs === undefined ? undefined : microseconds(options.bucketWidthMs, 1_000, "bucketWidthMs");
  return makeLimit({
    algorithm: "bucketed_window",
    limit,
    window,
    bucketWidth: bucketWidth(window, width, options.exact, { width: "bucketWidthMs", exact: "exact" }),
  });
}

const BURST: ReadonlySet<string> = new Set(["burst"]);
const ANCHOR: ReadonlySet<string> = new Set(["anchor"]);
const BUCKETS: ReadonlySet<string> = new Set(["bucketWidthMs", "exact"]);
const NONE: ReadonlySet<string> = new Set();

function requireLimitOptions(options: unknown, known: ReadonlySet<string>): void {
  requireOptions(options, known, { code: "HG_BAD_LIMIT", at: "" });
}
