import { Catalogue } from "../rules/catalogue.ts";
import { readRulesFile } from "../rules/rules-file.ts";
import { rulesOfFile } from "../runtime/file-rules.ts";
import { type Finding, fail, messageOf, ok, warn } from "./finding.ts";

/** One line per overlap. */
export function ruleFindings({ rules, warnings }: Pick<Catalogue, "rules" | "warnings">): readonly Finding[] {
  if (rules.length === 0) return [warn("rules", "there are none, so nothing is limited")];
  if (warnings.length === 0) return [ok("rules", `${rules.length}, without conflicts`)];
  return warnings.map(({ message }) => warn("rules", message));
}

export async function fileFindings(file: string): Promise<readonly Finding[]> {
  try {
    return ruleFindings(Catalogue.of(rulesOfFile(await readRulesFile(file), [], new Date())));
  } catch (error) {
    return [fail("rules", messageOf(error))];
  }
}
