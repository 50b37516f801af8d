import { type Clock, requireClock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { shown } from "../../errors.ts";
import { aFunction, anything, must, type Requirements, readOptions, wholeNumber } from "../../options.ts";
import { warn } from "../../warning.ts";
import type { DegradedChange } from "./breaker.ts";
import { type OnError, Policies } from "./on-error.ts";
import type { Failure } from "./store-failure.ts";

/** Options of `resilient`. */
export interface ResilientOptions {
  /**
   * Maximum time to wait for the store, in milliseconds. A busy but healthy store must be able to meet it. Default 250.
   */
  readonly deadlineMs?: number | undefined;
  /** Policy while the store fails, for all rules or by rule. Default `"local"`. */
  readonly onError?: OnError | undefined;
  /** Number of processes that share the limits. With `local`, each enforces its share. Default 1. */
  readonly nodes?: number | undefined;
  /**
   * Number of keys, over all rules, for which the store's last answer is remembered, so that the fallback continues
   * from there. About 100 bytes each. Default 100,000.
   */
  readonly maxKeys?: number | undefined;
  /** When to stop calling a failing store, and how often to test it. Default `{ failures: 5, retryMs: 250 }`. */
  readonly breaker?: BreakerOptions | undefined;
  /**
   * Called once when the store is considered down, and once when it is back. Default: a process warning when it goes
   * down.
   */
  readonly onDegraded?: ((change: DegradedChange) => void) | undefined;
  /** Called for each call that the store did not answer, with the code of the error, or `other`, and the error. */
  readonly onFailure?: ((failure: Failure, cause: unknown) => void) | undefined;
  /** Clock for deadlines, the breaker and the local shares. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** The circuit breaker of `resilient`. */
interface BreakerOptions {
  /** Number of consecutive failures after which the store is considered down. Default 5. */
  readonly failures?: number | undefined;
  /** While the store is down, one call per this many milliseconds tests whether it is back. Default 250. */
  readonly retryMs?: number | undefined;
}

const positiveMs = must(
  "a number of milliseconds above 0",
  (ms) => typeof ms === "number" && ms > 0 && Number.isSafeInteger(Math.ceil(ms * 1000)),
);

const REQUIREMENTS: Requirements<ResilientOptions> = {
  deadlineMs: positiveMs,
  onError: anything,
  nodes: wholeNumber(1),
  maxKeys: wholeNumber(1),
  breaker: anything,
  onDegraded: aFunction,
  onFailure: aFunction,
  clock: requireClock,
};

const BREAKER_REQUIREMENTS: Requirements<BreakerOptions> = { failures: wholeNumber(1), retryMs: positiveMs };

/** The validated options with defaults; times in microseconds. */
export interface Settings {
  readonly deadline: number;
  readonly policies: Policies;
  readonly nodes: number;
  readonly maxKeys: number;
  readonly failures: number;
  readonly retry: number;
  readonly onDegraded: (change: DegradedChange) => void;
  readonly onFailure: (failure: Failure, cause: unknown) => void;
  readonly clock: Clock;
}

export function readResilientOptions(options: ResilientOptions): Settings {
  const { deadlineMs = 250, onError = "local", nodes = 1, maxKeys = 100_000 } = readOptions(options, REQUIREMENTS);
  const { breaker = {}, onDegraded = warnOfFailure, onFailure = () => {}, clock = new SystemClock() } = options;
  const { failures = 5, retryMs = 250 } = readOptions(breaker, BREAKER_REQUIREMENTS, { at: "breaker." });
  return {
    deadline: Math.ceil(deadlineMs * 1000),
    policies: new Policies(onError),
    nodes,
    maxKeys,
    failures,
    retry: Math.ceil(retryMs * 1000),
    onDegraded,
    onFailure,
    clock,
  };
}

/** The default for `onDegraded`: a fallback is never silent. */
function warnOfFailure(change: DegradedChange): void {
  if (!change.degraded) return;
  const cause = change.cause instanceof Error ? change.cause.message : shown(change.cause);
  const what = change.node === undefined ? "The store" : `The store's server ${change.node}`;
  warn("HG_DEGRADED", `${what} is failing (${cause}); until it recovers, rules use their onError policy.`);
}
