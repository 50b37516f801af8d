import { HeadgateError } from "../../errors.ts";
import { type Limit, makeLimit, withBurst } from "../../limits/limit.ts";
import type { Answer } from "../../stores/store.ts";
import type { Settings } from "./leased-options.ts";

/** The part of a bucket that its nodes may hold together. */
const HELD_PART = 0.1;
/** No two clocks that tell seconds differ by more than this part of a span: quartz is ten times as good. */
const DRIFT = 0.001;

/** How the store keeps the quota that the nodes take from. */
export interface Pool {
  /** Under which the store counts: what nodes hold is not in it. */
  readonly limit: Limit;
  /** Whether it is full again at one moment, and everything that was taken before is worth nothing then. */
  readonly isWindow: boolean;
  /** How much one node may hold; 0 if the rule is too small to be shared out. */
  readonly most: number;
  /** Until when, by our clock, something is good that was asked for at `sentAt`. */
  deadline(sentAt: number, answer: Answer): number;
}

/**
 * A batch makes sense where one unit is as good as another as long as it lasts.
 *
 * - A fixed window: a unit of it is good until it ends. The total stays the limit, exactly.
 * - A token bucket or GCRA: a unit taken is one less that can be taken, whenever it is spent. What is held could be
 *   spent at once with a full bucket, so the bucket in the store is smaller by what all nodes may hold.
 *
 * Not in a log, a sliding or a bucketed window: there each unit counts from the moment at which it passed, and one
 * that was taken early would be forgotten early. Not in a leaky bucket: its units have a place in a queue.
 */
export function poolOf(rule: string, limit: Limit, settings: Settings): Pool {
  requireLeasable(rule, limit);
  const { nodes, base = 0, overProvision, leaseTime } = settings;
  const extra = overProvision ? nodes * base : 0;
  if (limit.algorithm === "fixed_window") {
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

/** Whether quota of a limit can be leased. */
export function isLeasable({ algorithm }: Limit): boolean {
  return algorithm === "fixed_window" || algorithm === "token_bucket" || algorithm === "gcra";
}

export function requireLeasable(name: string, limit: Limit): void {
  if (isLeasable(limit)) return;
  throw new HeadgateError(
    "HG_BAD_RULES",
    `rules.${name}`,
    `is a ${limit.algorithm}, which cannot be leased: use a fixedWindow, tokenBucket or gcra, or list the rules to lease for`,
  );
}
