import type { RateLimitRule, RuleInput } from "../rules/rule.ts";

/** The rules of a file, as if they were kept: one that has changed since it was read before has another version. */
export function rulesOfFile(
  inputs: readonly RuleInput[],
  before: readonly RateLimitRule[],
  now: Date,
): readonly RateLimitRule[] {
  const at = now.toISOString();
  const known = new Map(before.map((rule) => [rule.rule_id, rule]));
  return inputs.map((input) => {
    const rule = known.get(input.rule_id);
    if (rule === undefined) return { ...input, created_at: at, updated_at: at, version: 1 };
    if (isSame(rule, input)) return rule;
    return { ...input, created_at: rule.created_at, updated_at: at, version: rule.version + 1 };
  });
}

function isSame(rule: RuleInput, input: RuleInput): boolean {
  return (Object.keys(input) as (keyof RuleInput)[]).every((field) => rule[field] === input[field]);
}
