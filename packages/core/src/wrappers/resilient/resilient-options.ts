import { type Clock, requireClock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { HeadgateError, shown } from "../../errors.ts";
import { requireOptions } from "../../options.ts";
import type { DegradedChange } from "./breaker.ts";
import { type OnError, Policies } from "./on-error.ts";
import type { Failure } from "./store-failure.ts";

export interface ResilientOptions {
  /** No call takes longer than this (default 250). A busy but healthy store must be able to meet it. */
  readonly deadlineMs?: number | undefined;
  /** What holds while the store fails, for all rules or by rule. Default: `"local"`. */
  readonly onError?: OnError | undefined;
  /** How many processes share the limits (default 1): under `local`, each enforces its share. */
  readonly nodes?: number | undefined;
  /**
   * Of how many keys, over all rules, to remember what the store last said (default 100,000), so that the fallback
   * goes on from there. Each takes about 100 bytes.
   */
  readonly maxKeys?: number | undefined;
  readonly breaker?: BreakerOptions | undefined;
  /** Told once when the store is given up, and once when it is back. Default: a warning of the process when it is given up. */
  readonly onDegraded?: ((change: DegradedChange) => void) | undefined;
  /** Told of each call that the store did not answer: the code of the error, or `other`, and the error. */
  readonly onFailure?: ((failure: Failure, cause: unknown) => void) | undefined;
  /** What deadlines, the breaker and local shares go by. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

export interface BreakerOptions {
  /** After so many failures in a row the store is not asked any more (default 5). */
  readonly failures?: number | undefined;
  /** Then one call each so many milliseconds is sent to see whether it is back (default 250). */
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

/** The options as the store uses them: complete, and times in microseconds. */
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

/** Nothing falls back in silence. */
function warn(change: DegradedChange): void {
  if (!change.degraded) return;
  const cause = change.cause instanceof Error ? change.cause.message : shown(change.cause);
  const what = change.node === undefined ? "The store" : `The store's server ${change.node}`;
  process.emitWarning(`${what} fails (${cause}); until it is back, rules fall back as onError says.`, {
    type: "HeadgateWarning",
    code: "HG_DEGRADED",
  });
}
