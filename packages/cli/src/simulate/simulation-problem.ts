import type { z } from "zod";

const KINDS: Readonly<Record<string, string>> = {
  number: "a number",
  int: "a whole number",
  string: "text",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object with fields",
};

interface Measured {
  readonly origin: string;
  readonly input?: unknown;
}

/** Says what was expected of a value in a simulation file, and what was received. */
export function problemWith(issue: z.core.$ZodRawIssue): string | undefined {
  const got = `, got ${JSON.stringify(issue.input)}`;
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
  return `must be ${comparison} ${bound}, got ${JSON.stringify(input)}`;
}
