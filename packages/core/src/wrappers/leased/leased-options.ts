import { type Clock, requireClock } from "../../clock/clock.ts";
import { MonotonicClock } from "../../clock/monotonic-clock.ts";
import { HeadgateError, shown } from "../../errors.ts";
import { requireOptions } from "../../options.ts";

/** Options of `leased`. */
export interface LeasedOptions {
  /** Rules to lease for; the others go to the store. Default: all, which must then be leasable. */
  readonly rules?: readonly string[] | undefined;
  /** Maximum number of processes that share the store. Used for token buckets, GCRA and `overProvision`. Default 8. */
  readonly nodes?: number | undefined;
  /** Units to take at a time. Default: adapts to the traffic and to what the pool has left. */
  readonly base?: number | undefined;
  /** Remaining share of a batch at which the next one is fetched. Default 0.2. */
  readonly prefetchAt?: number | undefined;
  /** Number of requests on a key within a second or two after which quota is leased for it. Default 8. */
  readonly promoteAfter?: number | undefined;
  /** A key without requests for this many milliseconds returns all it holds. Default 1000. */
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

const OPTIONS: ReadonlySet<string> = new Set([
  "rules",
  "nodes",
  "base",
  "prefetchAt",
  "promoteAfter",
  "idleMs",
  "giveBackEveryMs",
  "leaseMs",
  "admitWhileAsking",
  "overProvision",
  "maxLeases",
  "clock",
]);

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
  requireOptions(options, OPTIONS);
  const { rules, nodes = 8, base, prefetchAt = 0.2, promoteAfter = 8, idleMs = 1_000 } = options;
  const { giveBackEveryMs = 15_000, leaseMs = 10_000, admitWhileAsking = 0, overProvision = false } = options;
  const { maxLeases = 100_000, clock = new MonotonicClock() } = options;
  if (rules !== undefined && !(Array.isArray(rules) && rules.every((name) => typeof name === "string"))) {
    throw new HeadgateError("HG_BAD_OPTION", "rules", `must be an array of rule names, got ${shown(rules)}`);
  }
  requireWhole(nodes, "nodes", 1);
  if (base !== undefined) requireWhole(base, "base", 1);
  requireWhole(promoteAfter, "promoteAfter", 1);
  requireWhole(admitWhileAsking, "admitWhileAsking", 0);
  requireWhole(maxLeases, "maxLeases", 1);
  if (typeof prefetchAt !== "number" || !(prefetchAt >= 0 && prefetchAt < 1)) {
    throw new HeadgateError("HG_BAD_OPTION", "prefetchAt", `must be at least 0 and below 1, got ${shown(prefetchAt)}`);
  }
  if (typeof overProvision !== "boolean") {
    throw new HeadgateError("HG_BAD_OPTION", "overProvision", `must be true or false, got ${shown(overProvision)}`);
  }
  if (overProvision && base === undefined) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "base",
      "must be given with overProvision: the pool holds nodes × base more",
    );
  }
  requireClock(clock);
  return {
    rules: rules && new Set(rules),
    nodes,
    base,
    prefetchAt,
    promoteAfter,
    idle: microseconds(idleMs, "idleMs"),
    giveBackEvery: microseconds(giveBackEveryMs, "giveBackEveryMs"),
    leaseTime: microseconds(leaseMs, "leaseMs"),
    admitWhileAsking,
    overProvision,
    maxLeases,
    clock,
  };
}

function requireWhole(value: unknown, field: string, least: number): void {
  if (!Number.isSafeInteger(value) || Number(value) < least) {
    throw new HeadgateError("HG_BAD_OPTION", field, `must be a whole number of at least ${least}, got ${shown(value)}`);
  }
}

/** A longer `setTimeout` fires immediately. */
const LONGEST_MS = 2 ** 31 - 1;

function microseconds(ms: unknown, field: string): number {
  if (typeof ms !== "number" || !(ms >= 1 && ms <= LONGEST_MS)) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      field,
      `must be a number of milliseconds from 1 to ${LONGEST_MS}, got ${shown(ms)}`,
    );
  }
  return Math.ceil(ms * 1_000);
}
