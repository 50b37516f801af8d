import type { Source } from "headgate";
import type { Dimension, Mode } from "../rules/rule.ts";

/** A check, independent of the transport. */
export interface CheckRequest {
  readonly identifier: string;
  readonly dimension: Dimension;
  readonly endpoint: string;
  /** A whole number; 0 charges nothing. */
  readonly cost: number;
  /** The client's time in milliseconds, if it was sent. Used only to report the clock skew. */
  readonly timestamp?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** The usage of a key under a limit, with hysteresis. */
export type UsageState = "normal" | "warning" | "throttled";

/** The result of one limit. */
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
  /** Time until this request would be admitted: 0 if it is, Infinity if it never can be. */
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
  /**
   * The limit that decided: for a denial the one with the longest wait, otherwise the one with the least left;
   * undefined if no rule matches.
   */
  readonly decisive: LimitResult | undefined;
  /** All enforced limits. */
  readonly limits: readonly LimitResult[];
  /** All limits in shadow mode. */
  readonly shadow: readonly LimitResult[];
  /** The client's clock minus the store's, in milliseconds, if the client sent its time. */
  readonly skew_ms: number | undefined;
  /** Whether the skew exceeds the bound. */
  readonly skewed: boolean;
}

/**
 * Decides for every transport, synchronously where possible. A denial is a result; an invalid request throws a
 * HeadgateError or RequestError that names the field, before anything is charged.
 */
export interface CheckService {
  check(request: CheckRequest): CheckResult | Promise<CheckResult>;
  /** Returns what a check would return, without charging. */
  peek(request: CheckRequest): CheckResult | Promise<CheckResult>;
  /** Resets the usage of an identity: under the rules that match the endpoint, or under all rules if there is none. */
  reset(
    identity: { readonly identifier: string; readonly dimension: Dimension; readonly endpoint?: string },
    actor: { readonly id: string; readonly name: string },
  ): Promise<{ readonly reset: readonly string[] }>;
  /** Writes pending audit events. */
  close(): Promise<void>;
}
