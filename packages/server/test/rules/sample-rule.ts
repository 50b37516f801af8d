import type { RateLimitRule } from "../../src/rules/rule.ts";

/** A rule with what a test states, and the rest as it may be. */
export function sampleRule(fields: Partial<RateLimitRule> = {}): RateLimitRule {
  return {
    rule_id: "orders",
    name: "Orders",
    dimension: "user",
    endpoint_pattern: "/api/v1/orders",
    limit: 100,
    window_seconds: 60,
    algorithm: "sliding_window_counter",
    burst: null,
    anchor: null,
    bucket_width: null,
    exact: null,
    tier: null,
    mode: "enforce",
    on_error: "local",
    consistency: "strict",
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    version: 1,
    ...fields,
  };
}
