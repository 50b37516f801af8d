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
  "enforce_share",
  "on_error",
  "consistency",
  "candidate.limit",
  "candidate.algorithm",
  "candidate.burst",
  "candidate.window_seconds",
] as const;

export type RuleField = (typeof FIELDS)[number];

/** Those that only some algorithms have. */
const ALGORITHM_FIELDS = ["burst", "anchor", "bucket_width", "exact", "calendar", "time_zone", "anchor_day"] as const;
/** Those that only a calendar has. */
const CALENDAR_FIELDS: readonly string[] = ["time_zone", "anchor_day"];
/** Those that limits on concurrent tasks do not have. */
const RATE_FIELDS: readonly RuleField[] = [
  "window_seconds",
  "mode",
  "enforce_share",
  "consistency",
  "candidate.limit",
  "candidate.algorithm",
  "candidate.burst",
  "candidate.window_seconds",
];
const CANDIDATE = "candidate.";
/** Every field of a rule, without a value. */
export const UNSET: Readonly<Record<string, null>> = Object.fromEntries(
  FIELDS.map((field) => [field.split(".")[0], null]),
);
const NUMBERS: readonly RuleField[] = [
  "limit",
  "window_seconds",
  "burst",
  "bucket_width",
  "anchor_day",
  "enforce_share",
  "candidate.limit",
  "candidate.burst",
  "candidate.window_seconds",
];

interface OwnField {
  readonly type: string | readonly string[];
  readonly about: string;
}

export interface AlgorithmField {
  readonly name: string;
  readonly about: string;
  readonly choices: readonly string[] | undefined;
  readonly isNumber: boolean;
}

export const ALGORITHM_NAMES = Object.values(algorithms).map(({ name }) => name);

/** The algorithms that checks apply. Slots of the others are taken by reservations. */
export const RATE_ALGORITHMS = ALGORITHM_NAMES.filter((name) => !isSlots(name));

/** Whether an algorithm limits concurrent tasks instead of a rate. */
export function isSlots(algorithm: string): boolean {
  return Object.values(algorithms).some(({ name, traits }) => name === algorithm && "releasable" in traits);
}

/** The fields that an algorithm has of its own. */
export function fieldsOf(algorithm: string): readonly AlgorithmField[] {
  const definition = Object.values(algorithms).find(({ name }) => name === algorithm);
  const fields: Readonly<Record<string, OwnField>> = definition?.fields ?? {};
  return Object.entries(fields)
    .filter(([name, field]) => !("replacesRate" in field) && ALGORITHM_FIELDS.some((known) => known === name))
    .map(([name, { type, about }]) => {
      const choices = choicesOf(type);
      return { name, about, choices, isNumber: choices === undefined && type !== "text" };
    });
}

/** The fields of a draft that apply, in view of the others. */
export function shownFields(draft: RuleDraft): readonly AlgorithmField[] {
  const hasCalendar = (draft["calendar"] ?? "") !== "";
  return fieldsOf(draft["algorithm"]).filter(({ name }) => {
    if (CALENDAR_FIELDS.includes(name)) return hasCalendar;
    return name !== "anchor" || !hasCalendar;
  });
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
  return Object.fromEntries(FIELDS.map((field) => [field, textOf(fieldValue(rule, field))]));
}

/** The value of a field, also of one within the candidate. */
function fieldValue(rule: object, field: RuleField): unknown {
  return field.split(".").reduce<unknown>((value, name) => {
    return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  }, rule);
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** The body of a request. Fields that were left blank, or do not apply, have their defaults. */
export function bodyOf(draft: RuleDraft): Record<string, unknown> {
  const own = shownFields(draft).map(({ name }) => name);
  const body: Record<string, unknown> = {};
  const candidate: Record<string, unknown> = {};
  for (const field of FIELDS) {
    const text = draft[field].trim();
    const isOther = ALGORITHM_FIELDS.some((name) => name === field) && !own.includes(field);
    if (text === "" || isOther || (isSlots(draft["algorithm"]) && RATE_FIELDS.includes(field))) continue;
    if (field.startsWith(CANDIDATE)) candidate[field.slice(CANDIDATE.length)] = stated(field, text);
    else body[field] = stated(field, text);
  }
  if (Object.keys(candidate).length > 0) body["candidate"] = candidate;
  // A calendar says how long windows are.
  if ("calendar" in body) Reflect.deleteProperty(body, "window_seconds");
  return body;
}

function stated(field: RuleField, text: string): unknown {
  if (field === "methods") return text.split(/[\s,]+/).filter((method) => method !== "");
  if (field === "exact") return text === "true";
  // The service reports what is not a number.
  return NUMBERS.includes(field) && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** Whether an error about `named`, such as `methods[0]` or `candidate.limit`, is about this field of the form. */
export function isAbout(named: string, field: RuleField): boolean {
  return named === field || named.startsWith(`${field}.`) || named.startsWith(`${field}[`);
}

/** What the database adds to a rule. */
const STORED_FIELDS: readonly string[] = ["created_at", "updated_at", "version"];

/** The fields of a stored rule that the form does not have. Saving must not remove them. */
export function keptFields(rule: RateLimitRule | undefined): Record<string, unknown> {
  const shown = new Set([...FIELDS.map((field) => field.split(".")[0]), ...STORED_FIELDS]);
  return Object.fromEntries(Object.entries(rule ?? {}).filter(([name]) => !shown.has(name)));
}

/** A stored rule as people write it. */
export function inputOf(rule: RateLimitRule): Omit<RateLimitRule, "created_at" | "updated_at" | "version"> {
  const { created_at: _, updated_at: __, version: ___, ...input } = rule;
  return input;
}

export interface Difference {
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

/** What saving would change, field by field. */
export function differences(before: object, after: object): Difference[] {
  return FIELDS.map((field) => {
    return { field, before: textOf(fieldValue(before, field)), after: textOf(fieldValue(after, field)) };
  }).filter(({ before, after }) => before !== after);
}
