import { algorithms } from "headgate";
import type { RateLimitRule } from "../../api/types.ts";

/** A rule as it stands in the form: text, as people type it. */
export type RuleDraft = Readonly<Record<string, string>>;

/** The fields of a rule that people write, in the order of the form. */
const FIELDS = [
  "rule_id",
  "name",
  "dimension",
  "endpoint_pattern",
  "methods",
  "tier",
  "algorithm",
  "limit",
  "window_seconds",
  "burst",
  "anchor",
  "bucket_width",
  "exact",
  "calendar",
  "time_zone",
  "anchor_day",
  "mode",
  "on_error",
  "consistency",
] as const;

export type RuleField = (typeof FIELDS)[number];

/** Those that only some algorithms have. */
const ALGORITHM_FIELDS = ["burst", "anchor", "bucket_width", "exact", "calendar", "time_zone", "anchor_day"] as const;
const NUMBERS: readonly string[] = ["limit", "window_seconds", "burst", "bucket_width", "anchor_day"];

interface OwnField {
  readonly type: string | readonly string[];
  readonly about: string;
}

export interface AlgorithmField {
  readonly name: string;
  readonly about: string;
  readonly choices: readonly string[] | undefined;
}

/** The algorithms that a rule can have; slots are taken by reservations, not by checks. */
export const ALGORITHM_NAMES = Object.values(algorithms)
  .filter(({ traits }) => !("releasable" in traits))
  .map(({ name }) => name);

/** The fields that an algorithm has of its own. */
export function fieldsOf(algorithm: string): readonly AlgorithmField[] {
  const definition = Object.values(algorithms).find(({ name }) => name === algorithm);
  const fields: Readonly<Record<string, OwnField>> = definition?.fields ?? {};
  return Object.entries(fields)
    .filter(([name, field]) => !("replacesRate" in field) && ALGORITHM_FIELDS.some((known) => known === name))
    .map(([name, { type, about }]) => ({ name, about, choices: choicesOf(type) }));
}

function choicesOf(type: string | readonly string[]): readonly string[] | undefined {
  if (type === "boolean") return ["true", "false"];
  return typeof type === "string" ? undefined : type;
}

export const BLANK: RuleDraft = {
  ...Object.fromEntries(FIELDS.map((field) => [field, ""])),
  dimension: "user",
  algorithm: ALGORITHM_NAMES[0],
  window_seconds: "60",
  mode: "enforce",
  on_error: "local",
  consistency: "strict",
};

export function draftOf(rule: RateLimitRule): RuleDraft {
  const fields: Readonly<Record<string, unknown>> = { ...rule };
  return Object.fromEntries(FIELDS.map((field) => [field, textOf(fields[field])]));
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** The body of a request. Fields that were left blank have their defaults. */
export function bodyOf(draft: RuleDraft): Record<string, unknown> {
  const own = fieldsOf(draft["algorithm"]).map(({ name }) => name);
  const body: Record<string, unknown> = {};
  for (const field of FIELDS) {
    const text = draft[field].trim();
    const isOther = ALGORITHM_FIELDS.some((name) => name === field) && !own.includes(field);
    if (text === "" || isOther) continue;
    if (field === "methods") body[field] = text.split(/[\s,]+/).filter((method) => method !== "");
    else if (NUMBERS.includes(field)) body[field] = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
    else if (field === "exact") body[field] = text === "true";
    else body[field] = text;
  }
  // A calendar says how long windows are.
  if ("calendar" in body) Reflect.deleteProperty(body, "window_seconds");
  return body;
}

/** What the database adds to a rule. */
const STORED_FIELDS: readonly string[] = ["created_at", "updated_at", "version"];

/** The fields of a stored rule that the form does not have, such as a trial. Saving must not remove them. */
export function keptFields(rule: RateLimitRule | undefined): Record<string, unknown> {
  const shown: readonly string[] = [...FIELDS, ...STORED_FIELDS];
  return Object.fromEntries(Object.entries(rule ?? {}).filter(([name]) => !shown.includes(name)));
}

export interface Difference {
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

/** What saving would change, field by field. */
export function differences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Difference[] {
  return FIELDS.map((field) => ({ field, before: textOf(before[field]), after: textOf(after[field]) })).filter(
    ({ before, after }) => before !== after,
  );
}
