import type { z } from "zod";
import { limitFields } from "./limit-fields.ts";
import type { RuleInput } from "./rule.ts";
import { ruleInput } from "./rule-input.ts";

type Issue = Pick<z.core.$ZodIssue, "path" | "message">;

/** Valid values of required fields. They replace invalid ones, so that the rest of the rule can be checked. */
const STAND_INS: Readonly<Record<string, unknown>> = {
  name: "stand-in",
  dimension: "user",
  endpoint_pattern: "/stand-in",
  limit: 1,
  window_seconds: 1,
};

/** Fields whose meaning depends on another: while that one is invalid, they cannot be checked. */
const DEPENDENTS: Readonly<Record<string, readonly string[]>> = {
  algorithm: [...limitFields.map(({ name }) => name), "consistency", "candidate"],
  window_seconds: limitFields.flatMap(({ name, type }) => (type === "seconds" ? name : [])),
  calendar: ["time_zone", "anchor_day", "window_seconds"],
  dimension: ["tier"],
};

/** The valid fields of a rule that is invalid as a whole. */
type ReadableRule = Partial<RuleInput>;

export interface FurtherProblems {
  readonly issues: readonly Issue[];
  /** All rules of the list as far as they can be read, by index. */
  readonly rules: readonly ReadableRule[];
}

/**
 * Finds further problems in a list of rules. A schema checks how fields go together only if each is valid by itself, so
 * invalid ones are replaced and the rule is parsed again. `issues` are those already found.
 */
export function furtherProblems(value: unknown, issues: readonly z.core.$ZodIssue[]): FurtherProblems {
  const wrong = wrongFields(issues);
  const further: Issue[] = [];
  const rules = rulesIn(value).map((rule, index): ReadableRule => {
    const fields = wrong.get(index) ?? new Set();
    if (typeof rule !== "object" || rule === null) return {};
    const found = ruleInput.safeParse(mended(rule, fields)).error?.issues ?? [];
    const own = found.filter(({ path: [field] }) => !fields.has(String(field)));
    for (const { path, message } of own) further.push({ path: ["rules", index, ...path], message });
    return readable(rule, new Set([...fields, ...own.map(({ path: [field] }) => String(field))]));
  });
  return { issues: further, rules };
}

function wrongFields(issues: readonly z.core.$ZodIssue[]): ReadonlyMap<number, ReadonlySet<string>> {
  const wrong = new Map<number, Set<string>>();
  for (const issue of issues) {
    const [list, index, field] = issue.path;
    if (list !== "rules" || typeof index !== "number") continue;
    const fields = wrong.get(index) ?? new Set();
    if (issue.code === "unrecognized_keys") for (const key of issue.keys) fields.add(key);
    else if (typeof field === "string") fields.add(field);
    wrong.set(index, fields);
  }
  return wrong;
}

/** Without the invalid fields, and without an id that would be derived from an invalid name. */
function readable(rule: object, wrong: ReadonlySet<string>): ReadableRule {
  const { data } = ruleInput.safeParse(mended(rule, wrong));
  if (data === undefined) return {};
  const isIdKnown = "rule_id" in rule || !wrong.has("name");
  return Object.fromEntries(
    Object.entries(data).filter(([field]) => !wrong.has(field) && (field !== "rule_id" || isIdKnown)),
  );
}

function mended(rule: object, wrong: ReadonlySet<string>): Record<string, unknown> {
  const unclear = new Set([...wrong].flatMap((field) => DEPENDENTS[field] ?? []));
  const right = Object.entries(rule).filter(([name]) => !wrong.has(name) && !unclear.has(name));
  const stands = Object.entries(STAND_INS).filter(([name]) => wrong.has(name));
  return Object.fromEntries([...right, ...stands]);
}

function rulesIn(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null || !("rules" in value) || !Array.isArray(value.rules)) return [];
  return value.rules;
}
