import { type RuleInput, windowText } from "headgate-server";

export interface Changes {
  readonly created: readonly RuleInput[];
  readonly updated: readonly { readonly before: RuleInput; readonly after: RuleInput }[];
  readonly removed: readonly RuleInput[];
  readonly unchanged: number;
}

/** The changes that turn the existing rules into the wanted ones. Rules are matched by id. */
export function changes(there: readonly RuleInput[], wanted: readonly RuleInput[]): Changes {
  const before = new Map(there.map((rule) => [rule.rule_id, rule]));
  const after = new Set(wanted.map(({ rule_id }) => rule_id));
  const created: RuleInput[] = [];
  const updated: { before: RuleInput; after: RuleInput }[] = [];
  for (const rule of wanted) {
    const known = before.get(rule.rule_id);
    if (known === undefined) created.push(rule);
    else if (changedFields(known, rule).length > 0) updated.push({ before: known, after: rule });
  }
  const removed = there.filter(({ rule_id }) => !after.has(rule_id));
  return { created, updated, removed, unchanged: wanted.length - created.length - updated.length };
}

/** One line per change. */
export function changesText({ created, updated, removed }: Changes): string {
  const lines = [
    ...created.map((rule) => `+ ${shown(rule)}`),
    ...updated.map(({ before, after }) => {
      const fields = changedFields(before, after).map(
        (name) => `${name} ${text(before[name])} -> ${text(after[name])}`,
      );
      return `~ ${after.rule_id}: ${fields.join(", ")}`;
    }),
    ...removed.map((rule) => `- ${shown(rule)}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** Counts of changes, found locally or reported by the service. */
export function summary({ created, updated, removed, unchanged }: Counted): string {
  return `${created.length} created, ${updated.length} updated, ${removed.length} removed, ${unchanged} unchanged\n`;
}

interface Counted {
  readonly created: readonly unknown[];
  readonly updated: readonly unknown[];
  readonly removed: readonly unknown[];
  readonly unchanged: number;
}

function changedFields(before: RuleInput, after: RuleInput): (keyof RuleInput)[] {
  return (Object.keys(after) as (keyof RuleInput)[]).filter((name) => {
    return JSON.stringify(before[name] ?? null) !== JSON.stringify(after[name]);
  });
}

function shown(rule: RuleInput): string {
  const { rule_id, dimension, endpoint_pattern, methods, limit, tier } = rule;
  const whose = tier === null ? dimension : `${dimension} of tier ${tier}`;
  const where = methods === null ? endpoint_pattern : `${methods} ${endpoint_pattern}`;
  return `${rule_id}: ${limit} in ${windowText(rule)} for each ${whose} at ${where}`;
}

/** Escapes control characters: a name can contain anything. */
function text(value: RuleInput[keyof RuleInput]): string {
  if (Array.isArray(value)) return value.map(text).join(",");
  return typeof value === "string" && !/^[\w./:*-]+$/.test(value) ? JSON.stringify(value) : String(value);
}
