import type { AuditEvent } from "../audit/audit.ts";
import type { RateLimitRule, RuleInput } from "../rules/rule.ts";

/** So many changed rules are written out in an audit entry; of more only the ids. */
const MOST_SHOWN = 50;

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

/** Whether a file says something else than before. */
export function isChanged(before: readonly RateLimitRule[], after: readonly RateLimitRule[]): boolean {
  const known = new Set(before);
  return before.length !== after.length || after.some((rule) => !known.has(rule));
}

/** What the audit log is told when a file is read, or has changed. */
export function fileChange(
  file: string,
  before: readonly RateLimitRule[],
  after: readonly RateLimitRule[],
  now: Date,
): AuditEvent {
  const [was, is] = [new Set(before), new Set(after)];
  const gone = before.filter((rule) => !is.has(rule));
  const come = after.filter((rule) => !was.has(rule));
  return {
    at: now.toISOString(),
    actor_id: "file",
    actor_name: file,
    action: "rules.file",
    subject: "rules",
    before: { rules: before.length, changed: shown(gone) },
    after: { rules: after.length, changed: shown(come) },
  };
}

function shown(rules: readonly RateLimitRule[]): readonly (RateLimitRule | string)[] {
  return rules.length <= MOST_SHOWN ? rules : rules.map(({ rule_id }) => rule_id);
}
