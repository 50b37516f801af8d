import { createHash } from "node:crypto";
import { HeadgateError } from "headgate";
import type { RateLimitRule, RuleInput } from "../rules/rule.ts";
import { requireStorable } from "./storable-text.ts";
import type { RuleRow } from "./tables.ts";

export function ruleOf(row: RuleRow): RateLimitRule {
  const exact = row.exact === null ? null : row.exact !== 0;
  return kept(
    { ...row, exact },
    new Date(row.created_at).toISOString(),
    new Date(row.updated_at).toISOString(),
    row.version,
  );
}

/** A rule with only the known fields of the input, copied one by one because that is by far the fastest way. */
export function kept(rule: RuleInput, created_at: string, updated_at: string, version: number): RateLimitRule {
  return {
    rule_id: rule.rule_id,
    name: rule.name,
    dimension: rule.dimension,
    endpoint_pattern: rule.endpoint_pattern,
    limit: rule.limit,
    window_seconds: rule.window_seconds,
    algorithm: rule.algorithm,
    burst: rule.burst,
    anchor: rule.anchor,
    bucket_width: rule.bucket_width,
    exact: rule.exact,
    tier: rule.tier,
    mode: rule.mode,
    on_error: rule.on_error,
    consistency: rule.consistency,
    created_at,
    updated_at,
    version,
  };
}

export function rowOf(rule: RateLimitRule): RuleRow {
  const { created_at, updated_at } = rule;
  return {
    ...rule,
    exact: rule.exact === null ? null : Number(rule.exact),
    created_at: Date.parse(created_at),
    updated_at: Date.parse(updated_at),
    place: placeOfRule(rule),
  };
}

export function isSameInput(a: RuleInput, b: RuleInput): boolean {
  return (
    a.rule_id === b.rule_id &&
    a.name === b.name &&
    a.dimension === b.dimension &&
    a.endpoint_pattern === b.endpoint_pattern &&
    a.limit === b.limit &&
    a.window_seconds === b.window_seconds &&
    a.algorithm === b.algorithm &&
    a.burst === b.burst &&
    a.anchor === b.anchor &&
    a.bucket_width === b.bucket_width &&
    a.exact === b.exact &&
    a.tier === b.tier &&
    a.mode === b.mode &&
    a.on_error === b.on_error &&
    a.consistency === b.consistency
  );
}

/**
 * Identifies the place of a rule: a family has one rule per tier, and one without. Two rules with the same place
 * conflict.
 */
export function placeOfRule({ dimension, endpoint_pattern, window_seconds, tier }: RuleInput): string {
  const place = JSON.stringify([dimension, endpoint_pattern, window_seconds, tier]);
  return createHash("sha256").update(place).digest("hex");
}

/** Rejects rules that cannot coexist. */
export function requireDistinct(inputs: readonly RuleInput[]): void {
  const ids = new Set<string>();
  const byPlace = new Map<string, string>();
  for (const input of inputs) {
    requireStorable(input);
    const { rule_id } = input;
    if (ids.has(rule_id)) throw new HeadgateError("HG_BAD_RULES", rule_id, "is used by two rules");
    ids.add(rule_id);
    const place = placeOfRule(input);
    const other = byPlace.get(place);
    if (other !== undefined) {
      const problem = `has the same dimension, pattern, window and tier as ${other}: keep one of them`;
      throw new HeadgateError("HG_BAD_RULES", rule_id, problem);
    }
    byPlace.set(place, rule_id);
  }
}
