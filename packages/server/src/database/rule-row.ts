import { createHash } from "node:crypto";
import { HeadgateError } from "headgate";
import { limitFields } from "../rules/limit-fields.ts";
import type { RateLimitRule, RuleInput } from "../rules/rule.ts";
import { windowOf } from "../rules/rule-window.ts";
import { requireStorable } from "./storable-text.ts";
import type { RuleRow } from "./tables.ts";

/** The column cannot be null, since the first rules all had a window of a fixed length. */
const NO_WINDOW = 0;

/** The columns of booleans. */
const FLAGS = limitFields.flatMap(({ name, type }) => (type === "boolean" ? name : []));

export function ruleOf({ place, ...row }: RuleRow): RateLimitRule {
  const times = {
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
  };
  const flags = FLAGS.map((name) => [name, row[name] === null ? null : Boolean(row[name])]);
  const methods = row.methods === null ? null : row.methods.split(",");
  const window_seconds = row.window_seconds === NO_WINDOW ? null : row.window_seconds;
  const candidate = row.candidate === null ? null : JSON.parse(row.candidate);
  return { ...row, ...times, methods, window_seconds, candidate, ...Object.fromEntries(flags) };
}

export function rowOf(rule: RateLimitRule): RuleRow {
  const times = { created_at: Date.parse(rule.created_at), updated_at: Date.parse(rule.updated_at) };
  const flags = FLAGS.map((name) => [name, rule[name] === null ? null : Number(rule[name])]);
  const methods = rule.methods === null ? null : rule.methods.join(",");
  const window_seconds = rule.window_seconds ?? NO_WINDOW;
  const candidate = rule.candidate === null ? null : JSON.stringify(rule.candidate);
  return {
    ...rule,
    ...times,
    methods,
    window_seconds,
    candidate,
    place: placeOfRule(rule),
    ...Object.fromEntries(flags),
  };
}

/**
 * Identifies the place of a rule: a family has one rule per tier, and one without. Two rules with the same place
 * conflict. Rules without methods have the place that they had before rules could have methods.
 */
export function placeOfRule(rule: RuleInput): string {
  const { dimension, endpoint_pattern, tier, methods } = rule;
  const place = JSON.stringify([dimension, endpoint_pattern, windowOf(rule), tier, ...(methods ?? [])]);
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
      const problem = `has the same dimension, pattern, methods, window and tier as ${other}: keep one of them`;
      throw new HeadgateError("HG_BAD_RULES", rule_id, problem);
    }
    byPlace.set(place, rule_id);
  }
}
