import type { z } from "zod";
import { ruleInput } from "./rule-input.ts";

type Issue = Pick<z.core.$ZodIssue, "path" | "message">;

/** Values that any rule may have: they stand in for those that are wrong. */
const STAND_INS: Readonly<Record<string, unknown>> = {
  name: "stand-in",
  dimension: "user",
  endpoint_pattern: "/stand-in",
  limit: 1,
  window_seconds: 1,
};

/**
 * What else is wrong with a list of rules. A schema looks at how fields go together only when each is right by itself;
 * so those that are not are replaced, and the rule is read again. `issues` are those found already.
 */
export function furtherIssues(value: unknown, issues: readonly z.core.$ZodIssue[]): Issue[] {
  const rules = rulesIn(value);
  const wrong = new Map<number, Set<string>>();
  for (const issue of issues) {
    const [list, index, field] = issue.path;
    if (list !== "rules" || typeof index !== "number") continue;
    const fields = wrong.get(index) ?? new Set();
    if (issue.code === "unrecognized_keys") for (const key of issue.keys) fields.add(key);
    else if (typeof field === "string") fields.add(field);
    wrong.set(index, fields);
  }
  return [...wrong].flatMap(([index, fields]) => {
    const rule = rules[index];
    if (typeof rule !== "object" || rule === null) return [];
    const { error } = ruleInput.safeParse(mended(rule, fields));
    const found = error?.issues ?? [];
    return found
      .filter(({ path: [field] }) => !fields.has(String(field)))
      .map(({ path, message }) => ({ path: ["rules", index, ...path], message }));
  });
}

function mended(rule: object, wrong: ReadonlySet<string>): Record<string, unknown> {
  const right = Object.entries(rule).filter(([name]) => !wrong.has(name));
  const stands = Object.entries(STAND_INS).filter(([name]) => wrong.has(name));
  return Object.fromEntries([...right, ...stands]);
}

function rulesIn(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null || !("rules" in value) || !Array.isArray(value.rules)) return [];
  return value.rules;
}
