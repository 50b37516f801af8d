import { algorithms } from "headgate";
import { Catalogue } from "../rules/catalogue.ts";
import { readRulesFile } from "../rules/rules-file.ts";
import { rulesOfFile } from "../runtime/file-rules.ts";
import { type Finding, fail, messageOf, ok, warn } from "./finding.ts";

/** One line per overlap. */
export function ruleFindings({ rules, warnings }: Pick<Catalogue, "rules" | "warnings">): readonly Finding[] {
  if (rules.length === 0) return [warn("rules", "there are none, so nothing is limited")];
  const found =
    warnings.length === 0
      ? [ok("rules", `${rules.length}, without conflicts`)]
      : warnings.map(({ message }) => warn("rules", message));
  const slots = rules.filter(({ algorithm }) => algorithms[algorithm].traits.releasable).map(({ rule_id }) => rule_id);
  if (slots.length === 0) return found;
  return [...found, ok("rules", `not applied by checks, only by reservations (concurrent tasks): ${slots.join(", ")}`)];
}

export async function fileFindings(file: string): Promise<readonly Finding[]> {
  try {
    return ruleFindings(Catalogue.of(rulesOfFile(await readRulesFile(file), [], new Date())));
  } catch (error) {
    return [fail("rules", messageOf(error))];
  }
}
