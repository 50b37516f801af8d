import type { RateLimitRule, RuleInput } from "../../src/rules/rule.ts";
import { ruleInput } from "../../src/rules/rule-input.ts";

const template = ruleInput.parse({
  rule_id: "orders",
  name: "Orders",
  dimension: "user",
  endpoint_pattern: "/api/v1/orders",
  limit: 100,
  window_seconds: 60,
  algorithm: "sliding_window_counter",
});

/** A rule as users write it, with what a test states, and the rest as it may be. */
export function sampleInput(fields: Partial<RuleInput> = {}): RuleInput {
  return { ...template, ...fields };
}

/** A rule with what a test states, and the rest as it may be. */
export function sampleRule(fields: Partial<RateLimitRule> = {}): RateLimitRule {
  const at = "2026-01-01T00:00:00.000Z";
  return { ...template, created_at: at, updated_at: at, version: 1, ...fields };
}
