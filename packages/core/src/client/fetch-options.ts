import { type Clock, requireClock } from "../clock/clock.ts";
import { SystemClock } from "../clock/system-clock.ts";
import { HeadgateError, shown } from "../errors.ts";
import { type Complete, requireOptions } from "../options.ts";

export interface FetchOptions {
  /** What sends requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** How often a refused request is sent again. Default 3. */
  readonly maxRetries?: number | undefined;
  /** How long one call may wait in all, for its turn and between tries. Default a minute. */
  readonly maxWaitMs?: number | undefined;
  /** Whether to keep within what the server has told, and not only to heed its refusals. Default true. */
  readonly pace?: boolean | undefined;
  /** Which requests share their limits. Default: those to one origin. */
  readonly groupOf?: ((url: string) => string) | undefined;
  /** Hears of each wait before a request is sent again. */
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  /** Where the time comes from. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Where chance comes from: a number from 0 to 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** A request that will be sent again. */
export interface Retry {
  readonly url: string;
  readonly status: number;
  /** 1 for the first time that it is sent again. */
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
      `must be a whole number from 0 on, got ${shown(maxRetries)}`,
    );
  }
  if (typeof maxWaitMs !== "number" || !(maxWaitMs >= 0)) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "maxWaitMs",
      `must be a number of milliseconds from 0 on, got ${shown(maxWaitMs)}`,
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
    // The global is looked up at each call, as a test or a tracer may replace it.
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

/** Addresses without an origin are relative to the page, and share its. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}
