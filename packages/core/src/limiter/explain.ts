import type { AlgorithmName } from "../algorithms/registry.ts";
import type { Limit } from "../limits/limit.ts";
import type { LeaseView } from "../stores/store.ts";

/** Why a request was allowed or denied. Converted to a string, it is a sentence. */
export interface Explanation {
  readonly rule: string;
  readonly algorithm: AlgorithmName;
  /** Units per window. */
  readonly limit: number;
  /** Length of the window in milliseconds. */
  readonly windowMs: number;
  /** The calendar that windows follow, such as `month in Europe/Berlin`, if their length is not fixed. */
  readonly calendar?: string;
  /** Maximum number of units that can be available at once. */
  readonly burst: number;
  readonly cost: number;
  readonly allowed: boolean;
  /** Units in use, as the algorithm counts them. */
  readonly used: number;
  /** Concurrency limit: slots in use, if the store could be asked. */
  readonly inUse?: number;
  readonly remaining: number;
  /** Milliseconds until this request would be allowed: 0 if it was, null if it can never be. */
  readonly passesInMs: number | null;
  /** Concurrency limit: set if `passesInMs` is an upper bound, because slots are usually released before it. */
  readonly passesInIsUpperBound?: true;
  /** Milliseconds until the full quota is available again. */
  readonly fullInMs: number;
  /** The lease that this process holds, if the decision was made by it. */
  readonly lease?: LeaseView;
  toString(): string;
}

interface Decided {
  readonly rule: string;
  readonly cost: number;
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  readonly windowMs: number;
}

export function explain(decision: Decided, limit: Limit): Explanation {
  const { rule, cost, allowed, remaining, retryAfterMs, resetAfterMs, windowMs } = decision;
  const { calendar } = limit;
  const size = limit.burst;
  const text = [
    `${rule} (${limit.algorithm}, ${limit.limit} per ${calendar ?? duration(windowMs)}${size === limit.limit ? "" : `, burst ${size}`})`,
    `${allowed ? "allowed" : "denied"} a cost of ${cost}`,
    `${rounded(remaining)} of ${size} left`,
    allowed ? undefined : passing(retryAfterMs),
    resetAfterMs > 0 ? `full again in ${duration(resetAfterMs)}` : "full",
  ];
  return {
    rule,
    algorithm: limit.algorithm,
    limit: limit.limit,
    windowMs,
    ...(calendar !== undefined && { calendar: String(calendar) }),
    burst: size,
    cost,
    allowed,
    used: size - remaining,
    remaining,
    passesInMs: Number.isFinite(retryAfterMs) ? retryAfterMs : null,
    fullInMs: resetAfterMs,
    toString: () => text.filter((part) => part !== undefined).join("; "),
  };
}

/** The explanation with the state of the lease. */
export function withLease(explanation: Explanation, lease: LeaseView): Explanation {
  const { held, pool, epoch, deadlineMs } = lease;
  const text = `${explanation}; ${rounded(held)} held here until ${duration(deadlineMs)} from now (epoch ${epoch}), ${rounded(pool)} in the pool`;
  return { ...explanation, lease, toString: () => text };
}

/** The explanation of a decision under a concurrency limit, which has no window. */
export function withSlots(explanation: Explanation, inUse: number | undefined, isUpperBound: boolean): Explanation {
  const { rule, algorithm, limit, cost, allowed, remaining, passesInMs } = explanation;
  const used = inUse ?? explanation.used;
  const text = [
    `${rule} (${algorithm}, ${limit} ${limit === 1 ? "slot" : "slots"})`,
    `${allowed ? "allowed" : "denied"} a cost of ${cost}`,
    inUse === undefined ? `${rounded(remaining)} of ${limit} left` : `${inUse} of ${limit} in use`,
    ...(allowed ? [] : [`${passing(passesInMs ?? Number.POSITIVE_INFINITY)}${isUpperBound ? " at most" : ""}`]),
  ].join("; ");
  return {
    ...explanation,
    used,
    ...(inUse !== undefined && { inUse }),
    ...(isUpperBound && { passesInIsUpperBound: true }),
    toString: () => text,
  };
}

function passing(retryAfterMs: number): string {
  return Number.isFinite(retryAfterMs)
    ? `would be allowed in ${duration(retryAfterMs)}`
    : "can never be allowed: it costs more than the limit holds";
}

function duration(ms: number): string {
  if (ms < 1000) return `${rounded(ms)} ms`;
  if (ms < 120_000) return `${rounded(ms / 1000)} s`;
  if (ms < 7_200_000) return `${rounded(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${rounded(ms / 3_600_000)} h`;
  return `${rounded(ms / 86_400_000)} days`;
}

function rounded(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
