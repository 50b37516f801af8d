import { createHash } from "node:crypto";
import { HeadgateError } from "headgate";
import { limitFields } from "../rules/limit-fields.ts";
import type { RateLimitRule, RuleInput } from "../rules/rule.ts";
import { requireStorable } from "./storable-text.ts";
import type { RuleRow } from "./tables.ts";

/** The columns of booleans. */
const FLAGS = limitFields.flatMap(({ name, type }) => (type === "boolean" ? name : []));

export function ruleOf({ place, ...row }: RuleRow): RateLimitRule {
  const times = {
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
  };
  const flags = FLAGS.map((name) => [name, row[name] === null ? null : Boolean(row[name])]);
  return { ...row, ...times, ...Object.fromEntries(flags) };
}

export function rowOf(rule: RateLimitRule): RuleRow {
  const times = { created_at: Date.parse(rule.created_at), updated_at: Date.parse(rule.updated_at) };
  const flags = FLAGS.map((name) => [name, rule[name] === null ? null : Number(rule[name])]);
  return { ...rule, ...times, place: placeOfRule(rule), ...Object.fromEntries(flags) };
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
