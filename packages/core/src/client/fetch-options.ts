import { type Clock, requireClock } from "../clock/clock.ts";
import { SystemClock } from "../clock/system-clock.ts";
import {
  aFunction,
  type Complete,
  must,
  type Requirements,
  readOptions,
  trueOrFalse,
  wholeNumber,
} from "../options.ts";

/** Options of `pacedFetch`. */
export interface FetchOptions {
  /** Function that sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Maximum number of retries of a denied request. Default 3. */
  readonly maxRetries?: number | undefined;
  /**
   * Maximum total time that a call may wait, before it is sent and between retries, in milliseconds. Default 60,000.
   */
  readonly maxWaitMs?: number | undefined;
  /** Slow down before the limit is exhausted. With false, only denials are handled. Default true. */
  readonly pace?: boolean | undefined;
  /** Groups requests that share limits. Default: by origin. */
  readonly groupOf?: ((url: string) => string) | undefined;
  /** Called before each retry. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  /** Source of time. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Source of randomness from 0 to 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** A request that will be retried. */
export interface Retry {
  readonly url: string;
  /** Status of the response that denied the request. */
  readonly status: number;
  /** Number of the retry, from 1. */
  readonly attempt: number;
  /** Milliseconds until the retry. */
  readonly waitMs: number;
}

const REQUIREMENTS: Requirements<FetchOptions> = {
  fetch: aFunction,
  maxRetries: wholeNumber(0),
  maxWaitMs: must("a number of milliseconds of at least 0", (ms) => typeof ms === "number" && ms >= 0),
  pace: trueOrFalse,
  groupOf: aFunction,
  onRetry: aFunction,
  clock: requireClock,
  random: aFunction,
};

export function readFetchOptions(options: FetchOptions): Complete<FetchOptions> {
  const { fetch = globalFetch, maxRetries = 3, maxWaitMs = 60_000, pace = true } = readOptions(options, REQUIREMENTS);
  const { groupOf = originOf, onRetry = () => {}, clock = new SystemClock(), random = Math.random } = options;
  return { fetch, maxRetries, maxWaitMs, pace, groupOf, onRetry, clock, random };
}

/** Looked up at each call, because a test or a tracer may replace the global. */
const globalFetch: typeof fetch = (input, init) => globalThis.fetch(input, init);

/** Relative URLs share the origin of the page. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}
