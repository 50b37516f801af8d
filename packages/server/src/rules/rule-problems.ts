import type { z } from "zod";
import { limitFields } from "./limit-fields.ts";
import type { RuleInput } from "./rule.ts";
import { ruleInput } from "./rule-input.ts";

type Issue = Pick<z.core.$ZodIssue, "path" | "message">;

/** Valid values of required fields. They replace those that are wrong, so that the rest of the rule can be checked. */
const STAND_INS: Readonly<Record<string, unknown>> = {
  name: "stand-in",
  dimension: "user",
  endpoint_pattern: "/stand-in",
  limit: 1,
  window_seconds: 1,
};

/** Fields whose meaning depends on another: while that one is wrong, nothing can be said about them. */
const DEPENDENTS: Readonly<Record<string, readonly string[]>> = {
  algorithm: [...limitFields.map(({ name }) => name), "consistency"],
  window_seconds: limitFields.flatMap(({ name, type }) => (type === "seconds" ? name : [])),
  dimension: ["tier"],
};

/** What is known of a rule that cannot be used as a whole: its valid fields. */
type ReadableRule = Partial<RuleInput>;

export interface FurtherProblems {
  readonly issues: readonly Issue[];
  /** All rules of the list as far as they can be read, each at its index. */
  readonly rules: readonly ReadableRule[];
}

/**
 * What else is wrong with a list of rules. A schema checks how fields go together only when each is valid by itself;
 * so those that are not are replaced, and the rule is read again. `issues` are those found already.
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

/** Without the fields that are wrong, and without an id that would be made of a name that is. */
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
