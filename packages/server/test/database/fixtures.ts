import type { DatabaseOptions } from "../../src/database/open-database.ts";
import type { RuleInput } from "../../src/rules/rule.ts";

/** A database that a test may also reach behind the service's back. */
export interface Place {
  readonly options: DatabaseOptions;
  /** Runs statements, one after the other. */
  sql(statements: string): Promise<void>;
}

export const admin = { id: "k0", name: "Ann" };

export function aRule(change: Partial<RuleInput> = {}): RuleInput {
  return {
    rule_id: "rule",
    name: "A rule",
    dimension: "user",
    endpoint_pattern: "/orders",
    limit: 100,
    window_seconds: 60,
    algorithm: "token_bucket",
    burst: null,
    anchor: null,
    bucket_width: null,
    exact: null,
    tier: null,
    mode: "enforce",
    on_error: "local",
    consistency: "strict",
    ...change,
  };
}
