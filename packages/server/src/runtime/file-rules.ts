import type { AuditEvent } from "../audit/audit.ts";
import { atOnce, type Work } from "../rules/cooperative-work.ts";
import { isSameInput, type RateLimitRule, type RuleInput } from "../rules/rule.ts";

/** Maximum number of changed rules to write out in an audit entry; beyond it, only their ids. */
const MOST_SHOWN = 50;
/** Maximum number of ids per audit entry. */
const MOST_IDS = 100;

/** The rules of a file, and how they differ from the previous ones. */
export interface FileReading {
  readonly before: readonly RateLimitRule[];
  readonly rules: readonly RateLimitRule[];
  /** Previous rules that were removed or changed. */
  readonly gone: readonly RateLimitRule[];
  /** Rules that are new or changed. */
  readonly come: readonly RateLimitRule[];
}

/** The rules of a file in their stored form. */
export function rulesOfFile(
  inputs: readonly RuleInput[],
  before: readonly RateLimitRule[],
  now: Date,
): readonly RateLimitRule[] {
  return atOnce(readingOf(inputs, before, now)).rules;
}

/** A rule that has changed gets a new version; one that has not stays the same object. */
export function* readingOf(
  inputs: readonly RuleInput[],
  before: readonly RateLimitRule[],
  now: Date,
): Work<FileReading> {
  const at = now.toISOString();
  const known = new Map<string, RateLimitRule>();
  for (const rule of before) {
    known.set(rule.rule_id, rule);
    yield;
  }
  const rules: RateLimitRule[] = [];
  const gone: RateLimitRule[] = [];
  const come: RateLimitRule[] = [];
  for (const input of inputs) {
    const there = known.get(input.rule_id);
    known.delete(input.rule_id);
    if (there !== undefined && isSameInput(there, input)) rules.push(there);
    else {
      const rule =
        there === undefined
          ? { ...input, created_at: at, updated_at: at, version: 1 }
          : { ...input, created_at: there.created_at, updated_at: at, version: there.version + 1 };
      rules.push(rule);
      come.push(rule);
      if (there !== undefined) gone.push(there);
    }
    yield;
  }
  for (const rule of known.values()) {
    gone.push(rule);
    yield;
  }
  return { before, rules, gone, come };
}

/** The audit entry for a file that was read or has changed. */
export function fileChange(file: string, { before, rules, gone, come }: FileReading, now: Date): AuditEvent[] {
  const entries = Math.max(1, Math.ceil(Math.max(gone.length, come.length) / MOST_IDS));
  const part = (changed: readonly RateLimitRule[], i: number) =>
    changed.length > MOST_SHOWN
      ? changed.slice(i * MOST_IDS, (i + 1) * MOST_IDS).map(({ rule_id }) => rule_id)
      : changed.slice(i * MOST_IDS);
  return Array.from({ length: entries }, (_, i) => ({
    at: now.toISOString(),
    actor_id: "file",
    actor_name: file,
    action: "rules.file",
    subject: "rules",
    before: { rules: before.length, changed: part(gone, i) },
    after: { rules: rules.length, changed: part(come, i) },
  }));
}
