/** The decisions of a rule in a minute or a day. */
export interface Rollup {
  readonly period: "minute" | "day";
  /** Start of the period, ISO 8601 in UTC. */
  readonly start: string;
  readonly rule_id: string;
  readonly allowed: number;
  readonly denied: number;
  /** Requests that would have been denied if the rule had been enforced. */
  readonly shadow_denied: number;
  /** Requests that the candidate of the rule would have denied. */
  readonly candidate_denied: number;
}

export interface RollupQuery {
  readonly period: "minute" | "day";
  readonly rule_id?: string;
  readonly from: string;
  readonly to: string;
  /** Maximum number of rows. */
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

export interface SummaryQuery {
  readonly period: "minute" | "day";
  readonly from: string;
  readonly to: string;
  /** Maximum number of rules. */
  readonly limit: number;
}

/** Decisions, one number for each start of a period. */
export interface UsageSeries {
  readonly allowed: number[];
  readonly denied: number[];
  readonly shadow_denied: number[];
  readonly candidate_denied: number[];
}

export interface UsageSummary {
  /** The periods in which anything was decided, ISO 8601 in UTC. */
  readonly starts: readonly string[];
  readonly total: UsageSeries;
  /** Ordered by denials, then by denials of a trial, then by decisions. */
  readonly rules: readonly (UsageSeries & { readonly rule_id: string })[];
}
