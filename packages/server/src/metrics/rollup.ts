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
