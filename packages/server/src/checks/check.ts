import type { Decision, Verdict } from "headgate";
import type { Dimension } from "../rules/rule.ts";
import type { Plan } from "./check-plans.ts";

/** Whose quota is charged. */
export interface Identity {
  readonly identifier: string;
  readonly dimension: Dimension;
}

/** A check, independent of the transport. */
export interface CheckRequest extends Identity {
  /** Identities that are charged together with the first one: all of them or, if a limit of one denies, none. */
  readonly others?: readonly Identity[] | undefined;
  readonly endpoint: string;
  /** The HTTP method of the request, in any case. Without it, rules that name methods do not apply. */
  readonly method?: string | undefined;
  /** A whole number; 0 charges nothing. */
  readonly cost: number;
  /** The client's time in milliseconds, if it was sent. Used only to report the clock skew. */
  readonly timestamp?: number | undefined;
  readonly idempotencyKey?: string | undefined;
  /** How long the caller waits, in milliseconds, if that is less than `store_timeout`. */
  readonly answerWithinMs?: number | undefined;
}

/** A check under a rule by its name, instead of the rules that match an endpoint. */
export interface RuleCheckRequest {
  readonly ruleId: string;
  /** Of the dimension of the rule. */
  readonly identifier: string;
  /** A whole number; 0 charges nothing. */
  readonly cost: number;
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

/** What corrects a charge afterwards. */
export type Correction = "refund" | "penalize";

/**
 * Decides for every transport, synchronously where possible. A denial is a result; an invalid request throws a
 * HeadgateError or RequestError that names the field, before anything is charged.
 */
export interface CheckService {
  check(request: CheckRequest): CheckResult | Promise<CheckResult>;
  /**
   * Checks the counter of a rule. As for an endpoint, the user's tier decides which of the rules that share the counter
   * applies.
   */
  checkRule(request: RuleCheckRequest): CheckResult | Promise<CheckResult>;
  /** Returns what a check would return, without charging. */
  peek(request: CheckRequest): CheckResult | Promise<CheckResult>;
  /**
   * Returns units, or charges them even if they are not available, under all limits that match. Fails with a StoreError
   * if a store does not answer.
   */
  correct(action: Correction, request: CheckRequest): Promise<CheckResult>;
  /** Resets the usage of an identity: under the rules that match the endpoint, or under all rules if there is none. */
  reset(
    identity: { readonly identifier: string; readonly dimension: Dimension; readonly endpoint?: string },
    actor: { readonly id: string; readonly name: string },
  ): Promise<{ readonly reset: readonly string[] }>;
  /** Writes pending audit events. */
  close(): Promise<void>;
}
