import { type Clock, requireClock } from "../clock/clock.ts";
import { SystemClock } from "../clock/system-clock.ts";
import { HeadgateError, shown } from "../errors.ts";
import { type Complete, requireOptions } from "../options.ts";

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
  readonly status: number;
  /** Number of the retry, from 1. */
  readonly attempt: number;
  readonly waitMs: number;
}

const OPTIONS: ReadonlySet<string> = new Set<keyof FetchOptions>([
  "fetch",
  "maxRetries",
  "maxWaitMs",
  "pace",
  "groupOf",
  "onRetry",
  "clock",
  "random",
]);

export function readOptions(options: FetchOptions): Complete<FetchOptions> {
  requireOptions(options, OPTIONS);
  const { maxRetries = 3, maxWaitMs = 60_000, pace = true, clock = new SystemClock() } = options;
  if (!Number.isSafeInteger(maxRetries) || maxRetries < 0) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "maxRetries",
      `must be a whole number of at least 0, got ${shown(maxRetries)}`,
    );
  }
  if (typeof maxWaitMs !== "number" || !(maxWaitMs >= 0)) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "maxWaitMs",
      `must be a number of milliseconds of at least 0, got ${shown(maxWaitMs)}`,
    );
  }
  if (typeof pace !== "boolean") {
    throw new HeadgateError("HG_BAD_OPTION", "pace", `must be true or false, got ${shown(pace)}`);
  }
  requireClock(clock);
  return {
    maxRetries,
    maxWaitMs,
    pace,
    clock,
    // Looked up at each call, because a test or a tracer may replace the global.
    fetch: functionIn(options, "fetch") ?? ((input, init) => globalThis.fetch(input, init)),
    groupOf: functionIn(options, "groupOf") ?? originOf,
    onRetry: functionIn(options, "onRetry") ?? (() => {}),
    random: functionIn(options, "random") ?? Math.random,
  };
}

function functionIn<Name extends keyof FetchOptions>(options: FetchOptions, name: Name): FetchOptions[Name] {
  const value = options[name];
  if (value === undefined || typeof value === "function") return value;
  throw new HeadgateError("HG_BAD_OPTION", name, `must be a function, got ${shown(value)}`);
}

/** Relative URLs share the origin of the page. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}
