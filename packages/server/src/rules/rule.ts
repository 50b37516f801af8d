import type { z } from "zod";
import type { ruleFields } from "./rule-input.ts";

/** Whose requests a rule counts. */
export const DIMENSIONS = ["user", "ip", "apikey"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** A dimension as a writer may spell it: in any case, and an API key with an underscore. */
export function dimensionOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const name = value.toLowerCase();
  return name === "api_key" ? "apikey" : name;
}

/** `shadow` decides, is counted and shown, and refuses nothing. */
export const MODES = ["enforce", "shadow"] as const;
export type Mode = (typeof MODES)[number];

/** What holds while the store of counters fails. */
export const ON_ERRORS = ["allow", "deny", "local"] as const;

/** How near to the store a decision is made: by it, by a local cache of it, or by quota leased from it. */
export const CONSISTENCIES = ["strict", "cached", "leased"] as const;
export type Consistency = (typeof CONSISTENCIES)[number];

/** A rule as users write it, complete with its defaults. */
export type RuleInput = Readonly<Omit<z.output<typeof ruleFields>, "rule_id"> & { rule_id: string }>;

/** A rule as the database and the API have it. Times are ISO 8601 in UTC. */
export interface RateLimitRule extends RuleInput {
  readonly created_at: string;
  readonly updated_at: string;
  /** Counts up with each change; the ETag of the rule. */
  readonly version: number;
}

export function isSameInput(rule: RuleInput, input: RuleInput): boolean {
  return (Object.keys(input) as (keyof RuleInput)[]).every((field) => rule[field] === input[field]);
}
