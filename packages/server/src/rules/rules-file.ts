import { readFile } from "node:fs/promises";
import { parseDocument, stringify } from "yaml";
import type { RuleInput } from "./rule.ts";
import { furtherProblems } from "./rule-problems.ts";
import { partsOfList } from "./rules-file.fast.ts";
import { RulesFileError } from "./rules-file-error.ts";
import { rulesFile } from "./rules-file-schema.ts";
import { PLAIN, READING, YamlFile } from "./yaml-file.ts";

/** Reads the rules of a YAML file. Throws a RulesFileError with all problems. */
export async function readRulesFile(path: string): Promise<readonly RuleInput[]> {
  return parseRules(await readFile(path, "utf8"), path);
}

/** The same for a text; `name` identifies it in messages. */
export function parseRules(text: string, name: string): readonly RuleInput[] {
  return parsedInParts(text) ?? parsedAsWhole(text, name);
}

/** Undefined if the file is not a plain list, or is invalid: it is then parsed as a whole, which gives positions. */
function parsedInParts(text: string): readonly RuleInput[] | undefined {
  const parts = partsOfList(text);
  if (parts === undefined) return undefined;
  const rules: RuleInput[] = [];
  for (const part of parts) {
    const { data } = rulesFile.safeParse({ rules: listIn(part) });
    if (data === undefined) return undefined;
    for (const rule of data.rules) rules.push(rule);
  }
  return repetitions(rules).length === 0 ? rules : undefined;
}

function listIn(part: string): unknown {
  const document = parseDocument(part, READING);
  if (document.errors.length + document.warnings.length > 0) return undefined;
  try {
    return document.toJS(PLAIN);
  } catch {
    // An alias to another part, or too many of them.
    return undefined;
  }
}

function parsedAsWhole(text: string, name: string): readonly RuleInput[] {
  const yaml = new YamlFile(text, name);
  const { data, error } = rulesFile.safeParse(yaml.value);
  if (error !== undefined) {
    const further = furtherProblems(yaml.value, error.issues);
    throw new RulesFileError(
      name,
      [
        ...yaml.problemsOf(error.issues),
        ...further.issues.map(({ path, message }) => yaml.problemAt(path, message)),
        ...repetitions(further.rules).map(([i, field, problem]) => yaml.problemAt(["rules", i, field], problem)),
      ].sort((a, b) => a.line - b.line || a.column - b.column),
    );
  }
  const repeated = repetitions(data.rules);
  if (repeated.length > 0) {
    throw new RulesFileError(
      name,
      repeated.map(([i, field, problem]) => yaml.problemAt(["rules", i, field], problem)),
    );
  }
  return data.rules;
}

/** Formats rules as a file, without fields that are null by default. */
export function rulesText(rules: readonly RuleInput[]): string {
  const short = rules.map((rule) => Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== null)));
  return stringify({ rules: short }, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Duplicate rules: the later of the two, its field, and why. Absent fields are unknown. */
function repetitions(rules: readonly Partial<RuleInput>[]): [index: number, field: keyof RuleInput, problem: string][] {
  const found: [number, keyof RuleInput, string][] = [];
  const ids = new Map<string, number>();
  const places = new Map<string, number>();
  for (const [i, rule] of rules.entries()) {
    const { rule_id } = rule;
    const place = placeOf(rule);
    const sameId = rule_id === undefined ? undefined : ids.get(rule_id);
    const samePlace = place === undefined ? undefined : places.get(place);
    if (sameId !== undefined) {
      found.push([i, "rule_id", `${rule_id} is that of rules[${sameId}] too: give each rule one of its own`]);
    } else if (samePlace !== undefined) {
      const problem = `rules[${samePlace}] has the same dimension, pattern, window and tier: remove one of them`;
      found.push([i, "endpoint_pattern", problem]);
    }
    if (rule_id !== undefined) ids.set(rule_id, sameId ?? i);
    if (place !== undefined) places.set(place, samePlace ?? i);
  }
  return found;
}

/** Undefined while one of the fields it consists of is unknown. */
function placeOf(rule: Partial<RuleInput>): string | undefined {
  const { dimension, endpoint_pattern, window_seconds, calendar, time_zone, anchor_day, tier } = rule;
  const place = [dimension, endpoint_pattern, window_seconds, calendar, time_zone, anchor_day, tier];
  return place.includes(undefined) ? undefined : JSON.stringify(place);
}
