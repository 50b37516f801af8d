import { createHash } from "node:crypto";
import { HeadgateError } from "headgate";
import type { RateLimitRule, RuleInput } from "../rules/rule.ts";
import type { RuleRow } from "./tables.ts";
import { requireStorable } from "./text.ts";

export function ruleOf({ place: _, created_at, updated_at, ...row }: RuleRow): RateLimitRule {
  return { ...row, created_at: new Date(created_at).toISOString(), updated_at: new Date(updated_at).toISOString() };
}

export function rowOf(rule: RateLimitRule): RuleRow {
  const { created_at, updated_at, version } = rule;
  return {
    ...inputOf(rule),
    created_at: Date.parse(created_at),
    updated_at: Date.parse(updated_at),
    version,
    place: placeOfRule(rule),
  };
}

/** The fields of a writer, and no other that his object may have. */
export function inputOf(rule: RuleInput): RuleInput {
  return {
    rule_id: rule.rule_id,
    name: rule.name,
    dimension: rule.dimension,
    endpoint_pattern: rule.endpoint_pattern,
    limit: rule.limit,
    window_seconds: rule.window_seconds,
    algorithm: rule.algorithm,
    burst: rule.burst,
    tier: rule.tier,
    mode: rule.mode,
    on_error: rule.on_error,
    consistency: rule.consistency,
  };
}

export function isSameInput(a: RuleInput, b: RuleInput): boolean {
  return JSON.stringify(inputOf(a)) === JSON.stringify(inputOf(b));
}

/** Of a family there is one rule for each tier, and one without: two rules have the same place only if one is too many. */
export function placeOfRule({ dimension, endpoint_pattern, window_seconds, tier }: RuleInput): string {
  const place = JSON.stringify([dimension, endpoint_pattern, window_seconds, tier]);
  return createHash("sha256").update(place).digest("hex");
}

/** Refuses rules of which two cannot be there at once. */
export function requireDistinct(inputs: readonly RuleInput[]): void {
  const ids = new Set<string>();
  const byPlace = new Map<string, string>();
  for (const input of inputs) {
    requireStorable(input);
    const { rule_id } = input;
    if (ids.has(rule_id)) throw new HeadgateError("HG_BAD_RULES", rule_id, "is the id of two rules");
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
