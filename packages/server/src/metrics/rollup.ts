/** What a rule decided in a minute or a day. */
export interface Rollup {
  readonly period: "minute" | "day";
  /** ISO 8601 in UTC: when it began. */
  readonly start: string;
  readonly rule_id: string;
  readonly allowed: number;
  readonly denied: number;
  /** Would have been denied, had the rule been enforced. */
  readonly shadow_denied: number;
}

export interface RollupQuery {
  readonly period: "minute" | "day";
  readonly rule_id?: string;
  readonly from: string;
  readonly to: string;
  /** How many at most. */
  readonly limit: number;
  /** Where the page before ended. */
  readonly cursor?: string;
}
