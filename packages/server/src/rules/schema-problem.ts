import type { z } from "zod";

const KINDS: Readonly<Record<string, string>> = {
  number: "a number",
  int: "a whole number",
  string: "text",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object with fields",
  record: "an object with fields",
};

const LONGEST_SHOWN = 60;

interface Measured {
  readonly origin: string;
  readonly input?: unknown;
}

/** Says what a schema expected of a value and what it received. Messages in the schema itself take precedence. */
export function schemaProblem(issue: z.core.$ZodRawIssue): string | undefined {
  const got = `, got ${received(issue.input)}`;
  if (issue.input === undefined) return "is required";
  switch (issue.code) {
    case "invalid_type":
      return `must be ${KINDS[issue.expected] ?? issue.expected}${got}`;
    case "too_small":
      return beyond(issue, issue.inclusive === false ? "more than" : "at least", issue.minimum);
    case "too_big":
      return beyond(issue, issue.inclusive === false ? "less than" : "at most", issue.maximum);
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.join(", ")}${got}`;
    case "unrecognized_keys":
      return `${issue.keys.join(", ")}: unknown field`;
    default:
      return undefined;
  }
}

function beyond({ origin, input }: Measured, comparison: string, bound: number | bigint): string {
  if (origin === "array") return `must have ${comparison} ${bound} ${bound === 1 ? "entry" : "entries"}`;
  if (origin === "string") return `must have ${comparison} ${bound} ${bound === 1 ? "character" : "characters"}`;
  return `must be ${comparison} ${bound}, got ${received(input)}`;
}

/** A value as in JSON; lists, objects and the rest of long texts are left out. */
function received(input: unknown): string {
  if (Array.isArray(input)) return "a list";
  if (typeof input === "object" && input !== null) return "an object";
  const text = String(JSON.stringify(input));
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
