import type { DatabaseOptions } from "../../src/database/open-database.ts";
import type { RuleInput } from "../../src/rules/rule.ts";
import { sampleInput } from "../rules/sample-rule.ts";

/** A database that a test may also reach behind the service's back. */
export interface Place {
  readonly options: DatabaseOptions;
  /** Runs statements, one after the other. */
  sql(statements: string): Promise<void>;
}

export const admin = { id: "k0", name: "Ann" };

export function aRule(change: Partial<RuleInput> = {}): RuleInput {
  const orders = { rule_id: "rule", name: "A rule", endpoint_pattern: "/orders" };
  return sampleInput({ ...orders, algorithm: "token_bucket", ...change });
}
