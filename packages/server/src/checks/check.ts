import type { Source } from "headgate";
import type { Dimension, Mode } from "../rules/rule.ts";

/** What a client asks, whatever it asks by. */
export interface CheckRequest {
  readonly identifier: string;
  readonly dimension: Dimension;
  readonly endpoint: string;
  /** A whole number; 0 only looks. */
  readonly cost: number;
  /** The client's time in milliseconds, if it told it: it decides nothing, and shows by how much its clock is off. */
  readonly timestamp?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** The usage of a key under a limit, with hysteresis. */
export type UsageState = "normal" | "warning" | "throttled";

/** One limit's part in an answer. */
export interface LimitResult {
  readonly rule_id: string;
  readonly name: string;
  readonly mode: Mode;
  readonly allowed: boolean;
  readonly limit: number;
  readonly window_seconds: number;
  readonly burst: number;
  /** Units in use after the decision: burst - remaining. */
  readonly current_count: number;
  readonly remaining: number;
  /** Until this request would pass; 0 if it does, Infinity if it never can. */
  readonly retry_after_ms: number;
  readonly reset_after_ms: number;
  /** The same as Unix times by the store's clock at the decision, rounded up to whole milliseconds. */
  readonly retry_at_ms: number;
  readonly reset_at_ms: number;
  readonly state: UsageState;
  readonly source: Source;
  readonly degraded: boolean;
  /** Where the limit comes from. */
  readonly from: "rule" | "tier" | "custom" | "override";
}

export interface CheckResult {
  readonly allowed: boolean;
  /** The limit that decided: of a denial the one with the longest wait, else the one with the least left; none if no rule matches. */
  readonly decisive: LimitResult | undefined;
  /** All that are enforced. */
  readonly limits: readonly LimitResult[];
  /** All that only look. */
  readonly shadow: readonly LimitResult[];
  /** The client's clock less the store's, in milliseconds, if the client told its time. */
  readonly skew_ms: number | undefined;
  /** Whether the skew is beyond the bound. */
  readonly skewed: boolean;
}

/**
 * Decides for every transport. Synchronous where it can be. A denial is a result; a wrong request fails with a
 * HeadgateError or RequestError that names the field, before anything is charged.
 */
export interface CheckService {
  check(request: CheckRequest): CheckResult | Promise<CheckResult>;
  /** What a check would say, charging nothing. */
  peek(request: CheckRequest): CheckResult | Promise<CheckResult>;
  /** Forgets what an identity has used: under all rules that match the endpoint, or all at all if there is none. */
  reset(
    identity: { readonly identifier: string; readonly dimension: Dimension; readonly endpoint?: string },
    actor: { readonly id: string; readonly name: string },
  ): Promise<{ readonly reset: readonly string[] }>;
  /** Writes what is still to be remembered of checks. */
  close(): Promise<void>;
}
