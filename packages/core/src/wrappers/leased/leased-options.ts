import { type Clock, requireClock } from "../../clock/clock.ts";
import { MonotonicClock } from "../../clock/monotonic-clock.ts";
import { HeadgateError, shown } from "../../errors.ts";
import { requireOptions } from "../../options.ts";

export interface LeasedOptions {
  /** The rules to lease for; the others go to the store (default: all, which must then be of a kind that can be leased). */
  readonly rules?: readonly string[] | undefined;
  /** How many processes share the store at most (default 8). Only buckets, and over-provisioning, go by it. */
  readonly nodes?: number | undefined;
  /** Units to take at a time. By default as many as suit the traffic and what the pool has left. */
  readonly base?: number | undefined;
  /** The next batch is fetched when this part of the last one is left (default 0.2). */
  readonly prefetchAt?: number | undefined;
  /** After so many requests of a key within a second or two it is leased for (default 8). */
  readonly promoteAfter?: number | undefined;
  /** A key that was asked for no more for so long gives back all it holds (default 1000). */
  readonly idleMs?: number | undefined;
  /** How often what is held beyond two batches is given back (default 15,000). */
  readonly giveBackEveryMs?: number | undefined;
  /** How long a lease of a bucket lasts (default 10,000). Of a window it lasts to the window's end. */
  readonly leaseMs?: number | undefined;
  /** Units to let in, for each key and window, while the pool is being asked (default 0). Those it then refuses are over the limit. */
  readonly admitWhileAsking?: number | undefined;
  /** Whether the pool holds `nodes × base` more than the limit, so that none of the limit is missing while others hold some (default false). */
  readonly overProvision?: boolean | undefined;
  /** How many keys are leased for at once (default 100,000). Keys beyond go to the store. */
  readonly maxLeases?: number | undefined;
  /** What leases live by, and timers. Default: a clock that nobody sets. */
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

/** The options, checked and complete; times in microseconds. */
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
    throw new HeadgateError("HG_BAD_OPTION", "rules", `must be a list of names of rules, got ${shown(rules)}`);
  }
  requireWhole(nodes, "nodes", 1);
  if (base !== undefined) requireWhole(base, "base", 1);
  requireWhole(promoteAfter, "promoteAfter", 1);
  requireWhole(admitWhileAsking, "admitWhileAsking", 0);
  requireWhole(maxLeases, "maxLeases", 1);
  if (typeof prefetchAt !== "number" || !(prefetchAt >= 0 && prefetchAt < 1)) {
    throw new HeadgateError("HG_BAD_OPTION", "prefetchAt", `must be a part from 0 up to 1, got ${shown(prefetchAt)}`);
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

/** A longer `setTimeout` fires at once. */
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
