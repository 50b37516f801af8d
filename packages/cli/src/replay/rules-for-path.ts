import { algorithms } from "headgate";
import { type Dimension, type RuleInput, ruleLookup } from "headgate-server";
import { countText, type RulesFor } from "headgate-simulator";

/** The service's own lookup, for identities without stored data. */
export async function rulesForPath(rules: readonly RuleInput[], dimension: Dimension): Promise<RulesFor> {
  const find = await ruleLookup(rules, dimension);
  return ({ path, method, key }) => find(path, method, key);
}

/** Names the rules that do not apply to any request of the dimension. */
export function unusedNotes(name: string, rules: readonly RuleInput[], dimension: Dimension): string[] {
  const slots = rules.filter(({ algorithm }) => algorithms[algorithm].traits.releasable);
  const rates = rules.filter((rule) => !slots.includes(rule));
  const unused = rates.filter((rule) => rule.dimension !== dimension || rule.tier !== null);
  const whose = `the requests are of the dimension ${dimension} and have no tier`;
  return [
    ...unusedNote(`${name}: ${whose}`, unused, rules.length),
    ...unusedNote(`${name}: only reservations take the slots of limits on concurrent tasks`, slots, rules.length),
  ];
}

function unusedNote(reason: string, unused: readonly RuleInput[], all: number): string[] {
  if (unused.length === 0) return [];
  const ids = unused.map(({ rule_id }) => rule_id).slice(0, 10);
  const more = unused.length > ids.length ? ", …" : "";
  return [
    `${reason}, so ${countText(unused.length)} of ${countText(all)} rules do not apply: ${ids.join(", ")}${more}`,
  ];
}
