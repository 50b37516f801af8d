import { traitsOf } from "../../algorithms/lookup.ts";
import { algorithms } from "../../algorithms/registry.ts";
import { HeadgateError } from "../../errors.ts";
import { type Limit, makeLimit, withBurst } from "../../limits/limit.ts";
import type { Answer } from "../../stores/store.ts";
import type { Settings } from "./leased-options.ts";

/** Share of a bucket that all nodes together may hold. */
const HELD_PART = 0.1;
/** Maximum relative drift between two clocks; quartz clocks are ten times better. */
const DRIFT = 0.001;

/** How the store keeps the quota that nodes take from. */
export interface Pool {
  /** The limit that the store enforces, which excludes what nodes hold. */
  readonly limit: Limit;
  /** Whether it refills completely at one moment, after which everything taken before is worthless. */
  readonly isWindow: boolean;
  /** Maximum that one node may hold; 0 if the limit is too small to lease. */
  readonly most: number;
  /** Until when, by the local clock, a grant requested at `sentAt` is valid. */
  deadline(sentAt: number, answer: Answer): number;
}

/**
 * Quota can be leased if all units are equivalent while the lease lasts:
 *
 * - A unit of a fixed window is valid until the window ends. The total is exactly the limit.
 * - A unit taken from a token bucket or GCRA is no longer available, whenever it is spent. Because all held units could
 *   be spent at once while the bucket is full, the bucket in the store is smaller by what all nodes may hold.
 *
 * It cannot be leased from a log, a sliding window or a bucketed window, where each unit counts from the moment it is
 * admitted: one taken early would also expire early. In a leaky bucket, units have a place in a queue.
 */
export function poolOf(rule: string, limit: Limit, settings: Settings): Pool {
  requireLeasable(rule, limit);
  const { nodes, base = 0, overProvision, leaseTime } = settings;
  const extra = overProvision ? nodes * base : 0;
  if (!traitsOf(limit).burst) {
    const total = extra > 0 ? makeLimit({ ...limit, limit: limit.limit + extra, burst: limit.limit + extra }) : limit;
    return {
      limit: total,
      isWindow: true,
      most: Number.POSITIVE_INFINITY,
      deadline: (sentAt, { resetAfter }) => sentAt + Math.floor(resetAfter * (1 - DRIFT)),
    };
  }
  const most = Math.floor((limit.burst * HELD_PART) / nodes);
  const burst = limit.burst - (overProvision ? 0 : most * nodes);
  return {
    limit: burst === limit.burst ? limit : withBurst(limit, burst),
    isWindow: false,
    most,
    deadline: (sentAt) => sentAt + leaseTime,
  };
}

export function requireLeasable(name: string, limit: Limit): void {
  if (traitsOf(limit).leasable) return;
  const builders = Object.values(algorithms).flatMap(({ traits, build }) => (traits.leasable ? build.name : []));
  throw new HeadgateError(
    "HG_BAD_RULES",
    `rules.${name}`,
    `is a ${limit.algorithm}, which cannot be leased: use one of ${builders.join(", ")}, or list the rules to lease for`,
  );
}
