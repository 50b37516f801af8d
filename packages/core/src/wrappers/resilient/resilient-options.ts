import { type Clock, requireClock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { HeadgateError, shown } from "../../errors.ts";
import { requireOptions } from "../../options.ts";
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
  /** When to stop calling a failing store, and how often to test it. */
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
export interface BreakerOptions {
  /** Number of consecutive failures after which the store is considered down. Default 5. */
  readonly failures?: number | undefined;
  /** While the store is down, one call per this many milliseconds tests whether it is back. Default 250. */
  readonly retryMs?: number | undefined;
}

const OPTIONS: ReadonlySet<string> = new Set([
  "deadlineMs",
  "onError",
  "nodes",
  "maxKeys",
  "breaker",
  "onDegraded",
  "onFailure",
  "clock",
]);
const BREAKER_OPTIONS: ReadonlySet<string> = new Set(["failures", "retryMs"]);

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

export function readOptions(options: ResilientOptions): Settings {
  requireOptions(options, OPTIONS);
  const { deadlineMs = 250, onError = "local", nodes = 1, maxKeys = 100_000 } = options;
  const { breaker = {}, onDegraded = warn, onFailure = () => {}, clock = new SystemClock() } = options;
  requireOptions(breaker, BREAKER_OPTIONS, { at: "breaker." });
  const { failures = 5, retryMs = 250 } = breaker;
  requireCount(nodes, "nodes");
  requireCount(maxKeys, "maxKeys");
  requireCount(failures, "breaker.failures");
  for (const [name, listener] of Object.entries({ onDegraded, onFailure })) {
    if (typeof listener === "function") continue;
    throw new HeadgateError("HG_BAD_OPTION", name, `must be a function, got ${shown(listener)}`);
  }
  requireClock(clock);
  return {
    deadline: microseconds(deadlineMs, "deadlineMs"),
    policies: new Policies(onError),
    nodes,
    maxKeys,
    failures,
    retry: microseconds(retryMs, "breaker.retryMs"),
    onDegraded,
    onFailure,
    clock,
  };
}

function microseconds(ms: unknown, field: string): number {
  const time = typeof ms === "number" ? Math.ceil(ms * 1000) : Number.NaN;
  if (!Number.isSafeInteger(time) || time < 1) {
    throw new HeadgateError("HG_BAD_OPTION", field, `must be a number of milliseconds above 0, got ${shown(ms)}`);
  }
  return time;
}

function requireCount(count: unknown, field: string): asserts count is number {
  if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 1) {
    throw new HeadgateError("HG_BAD_OPTION", field, `must be a whole number of at least 1, got ${shown(count)}`);
  }
}

/** The default for `onDegraded`: a fallback is never silent. */
function warn(change: DegradedChange): void {
  if (!change.degraded) return;
  const cause = change.cause instanceof Error ? change.cause.message : shown(change.cause);
  const what = change.node === undefined ? "The store" : `The store's server ${change.node}`;
  process.emitWarning(`${what} fails (${cause}); until it recovers, rules use their onError policy.`, {
    type: "HeadgateWarning",
    code: "HG_DEGRADED",
  });
}
