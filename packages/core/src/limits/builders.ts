import { requireOptions } from "../options.ts";
import { type Anchor, bucketWidth, type Limit, makeLimit, microseconds } from "./limit.ts";
import { parseRate, type Rate } from "./rate.ts";

export interface BurstOptions {
  /** How many units can be held at once. Default: the limit. */
  readonly burst?: number | undefined;
}

export interface FixedWindowOptions {
  /** `"clock"` aligns windows to the UTC epoch; `"request"` opens one with the first admitted request. */
  readonly anchor?: Anchor | undefined;
}

export interface BucketedWindowOptions {
  /** The width of a bucket. Default 100 ms, or a tenth of a window shorter than a second. */
  readonly bucketWidthMs?: number | undefined;
  /** Keep every instant apart: nothing passes early, and each admitted request takes memory. */
  readonly exact?: boolean | undefined;
}

/** Refills steadily and allows bursts: the right first choice for an API. */
export function tokenBucket(rate: Rate, options: BurstOptions = {}): Limit<"token_bucket"> {
  requireLimitOptions(options, BURST);
  return makeLimit({ algorithm: "token_bucket", ...parseRate(rate), burst: options.burst });
}

/** Drains steadily; its decisions say how long to hold a request so that traffic leaves evenly. */
export function leakyBucket(rate: Rate, options: BurstOptions = {}): Limit<"leaky_bucket"> {
  requireLimitOptions(options, BURST);
  return makeLimit({ algorithm: "leaky_bucket", ...parseRate(rate), burst: options.burst });
}

/** The token bucket as networks state it: decides the same, and shows whole units. */
export function gcra(rate: Rate, options: BurstOptions = {}): Limit<"gcra"> {
  requireLimitOptions(options, BURST);
  return makeLimit({ algorithm: "gcra", ...parseRate(rate), burst: options.burst });
}

/** Counts in windows side by side: cheap, and up to twice the limit around a boundary. */
export function fixedWindow(rate: Rate, options: FixedWindowOptions = {}): Limit<"fixed_window"> {
  requireLimitOptions(options, ANCHOR);
  return makeLimit({ algorithm: "fixed_window", ...parseRate(rate), anchor: options.anchor });
}

/** Estimates a sliding window from two counters: small, smooth, and never over the limit by its own estimate. */
export function slidingWindow(rate: Rate, options: Record<string, never> = {}): Limit<"sliding_window_counter"> {
  requireLimitOptions(options, NONE);
  return makeLimit({ algorithm: "sliding_window_counter", ...parseRate(rate) });
}

/** Remembers every admitted unit: never more than the limit in any window, at the price of memory. */
export function slidingWindowLog(rate: Rate, options: Record<string, never> = {}): Limit<"sliding_window_log"> {
  requireLimitOptions(options, NONE);
  return makeLimit({ algorithm: "sliding_window_log", ...parseRate(rate) });
}

/** A sliding window counted in buckets: bounded memory, and some requests pass up to a bucket's width early. */
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
