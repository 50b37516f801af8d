import { z } from "zod";
import { Catalogue } from "./catalogue.ts";
import type { Warning } from "./overlaps.ts";
import type { RuleInput } from "./rule.ts";
import { ruleInput } from "./rule-input.ts";
import { parseRules } from "./rules-file.ts";
import { type FileProblem, RulesFileError } from "./rules-file-error.ts";

/** The result of checking a rules file: its rules, or its problems. */
export type CheckedRules =
  | { readonly rules: readonly RuleInput[]; readonly warnings: readonly Warning[]; readonly problems?: undefined }
  | { readonly problems: readonly FileProblem[] };

/** Checks a rules file as far as possible without a service. */
export function checkRules(text: string): CheckedRules {
  try {
    const rules = parseRules(text, "");
    return { rules, warnings: warningsOf(rules) };
  } catch (error) {
    if (error instanceof RulesFileError) return { problems: error.problems };
    throw error;
  }
}

/** The rules that a service returned, without the fields that it adds. */
export function rulesOfService(rules: readonly unknown[]): readonly RuleInput[] {
  return rules.map((rule) => {
    const fields = Object.entries(z.record(z.string(), z.unknown()).parse(rule));
    return ruleInput.parse(Object.fromEntries(fields.filter(([name]) => Object.hasOwn(ruleInput.in.shape, name))));
  });
}

function warningsOf(rules: readonly RuleInput[]): readonly Warning[] {
  const at = { created_at: "", updated_at: "", version: 0 };
  return Catalogue.of(rules.map((rule) => ({ ...rule, ...at }))).warnings;
}
