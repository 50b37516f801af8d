import type { Decision, Verdict } from "headgate";
import type { Dimension } from "../rules/rule.ts";
import type { Plan } from "./check-plans.ts";

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

/** The result of a check, which transports encode. */
export interface CheckResult {
  readonly allowed: boolean;
  /** The verdict of the enforced limits; undefined if no rule matches. */
  readonly verdict: Verdict | undefined;
  /** The decisions of the shadow limits, which deny nothing. */
  readonly shadow: readonly Decision[];
  /** The limits of the verdict's decisions and of the shadow decisions, in their order. */
  readonly plan: Plan;
  /** How far the client's clock is ahead of the store's, in milliseconds, if the client sent its time. */
  readonly skewMs: number | undefined;
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
