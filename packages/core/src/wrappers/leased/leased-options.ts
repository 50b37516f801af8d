import { type Clock, requireClock } from "../../clock/clock.ts";
import { MonotonicClock } from "../../clock/monotonic-clock.ts";
import { HeadgateError } from "../../errors.ts";
import { milliseconds, must, type Requirements, readOptions, trueOrFalse, wholeNumber } from "../../options.ts";

/** Options of `leased`. */
export interface LeasedOptions {
  /**
   * Rules for which quota is leased; the others go to the store. Default: all rules, which must then be fixed windows,
   * token buckets or GCRA.
   */
  readonly rules?: readonly string[] | undefined;
  /** Maximum number of processes that share the store. Used for token buckets, GCRA and `overProvision`. Default 8. */
  readonly nodes?: number | undefined;
  /** Units to take at a time. Default: adapts to the traffic and to what the pool has left. */
  readonly base?: number | undefined;
  /** Remaining share of a batch at which the next one is fetched. Default 0.2. */
  readonly prefetchAt?: number | undefined;
  /** Number of requests on a key within a second or two after which quota is leased for it. Default 8. */
  readonly promoteAfter?: number | undefined;
  /** Quota of a key without requests for this many milliseconds is returned. Default 1000. */
  readonly idleMs?: number | undefined;
  /** How often quota beyond two batches is returned, in milliseconds. Default 15,000. */
  readonly giveBackEveryMs?: number | undefined;
  /**
   * Duration of a lease on a token bucket, in milliseconds. A lease on a window lasts until the window ends. Default
   * 10,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * Units to admit per key and window while the pool is being asked. They exceed the limit if the pool denies them.
   * Default 0.
   */
  readonly admitWhileAsking?: number | undefined;
  /**
   * Add `nodes × base` units to the pool, so that the whole limit can be used while other processes hold some. Exceeds
   * the limit. Default false.
   */
  readonly overProvision?: boolean | undefined;
  /** Maximum number of leased keys. Further keys go to the store. Default 100,000. */
  readonly maxLeases?: number | undefined;
  /** Clock and timers of leases. Default: a monotonic clock. */
  readonly clock?: Clock | undefined;
}

const REQUIREMENTS: Requirements<LeasedOptions> = {
  rules: must(
    "an array of rule names",
    (rules) => Array.isArray(rules) && rules.every((name) => typeof name === "string"),
  ),
  nodes: wholeNumber(1),
  base: wholeNumber(1),
  prefetchAt: must("at least 0 and below 1", (share) => typeof share === "number" && share >= 0 && share < 1),
  promoteAfter: wholeNumber(1),
  idleMs: milliseconds(1),
  giveBackEveryMs: milliseconds(1),
  leaseMs: milliseconds(1),
  admitWhileAsking: wholeNumber(0),
  overProvision: trueOrFalse,
  maxLeases: wholeNumber(1),
  clock: requireClock,
};

/** The validated options with defaults; times in microseconds. */
export interface Settings {
  readonly rules: ReadonlySet<string> | undefined;
  readonly nodes: number;
  readonly base: number | undefined;
  readonly prefetchAt: number;
  readonly promoteAfter: number;
  readonly idle: number;
  readonly giveBackEvery: number;
  readonly leaseTime: number;
  readonly admitWhileAsking: number;
  readonly overProvision: boolean;
  readonly maxLeases: number;
  readonly clock: Clock;
}

export function readLeasedOptions(options: LeasedOptions): Settings {
  const { rules, nodes = 8, base, prefetchAt = 0.2, promoteAfter = 8 } = readOptions(options, REQUIREMENTS);
  const { idleMs = 1_000, giveBackEveryMs = 15_000, leaseMs = 10_000, admitWhileAsking = 0 } = options;
  const { overProvision = false, maxLeases = 100_000, clock = new MonotonicClock() } = options;
  if (overProvision && base === undefined) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "base",
      "must be given with overProvision: the pool holds nodes × base more",
    );
  }
  return {
    rules: rules && new Set(rules),
    nodes,
    base,
    prefetchAt,
    promoteAfter,
    idle: Math.ceil(idleMs * 1_000),
    giveBackEvery: Math.ceil(giveBackEveryMs * 1_000),
    leaseTime: Math.ceil(leaseMs * 1_000),
    admitWhileAsking,
    overProvision,
    maxLeases,
    clock,
  };
}
