import type { z } from "zod";
import type { ruleFields } from "./rule-input.ts";

/** Whose requests a rule counts. */
export const DIMENSIONS = ["user", "ip", "apikey"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** Normalizes the spelling of a dimension: case-insensitive, and with or without an underscore in `api_key`. */
export function dimensionOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const name = value.toLowerCase();
  return name === "api_key" ? "apikey" : name;
}

/** `shadow` is evaluated, counted and reported, but denies nothing. */
export const MODES = ["enforce", "shadow"] as const;

/** What applies while the store of counters fails. */
export const ON_ERRORS = ["allow", "deny", "local"] as const;
export type OnError = (typeof ON_ERRORS)[number];

/** Where a decision is made: in the store, in a local cache, with leased quota, or with the share of the node. */
export const CONSISTENCIES = ["strict", "cached", "leased", "split"] as const;
export type Consistency = (typeof CONSISTENCIES)[number];

/** A rule as users write it, complete with its defaults. */
export type RuleInput = Readonly<Omit<z.output<typeof ruleFields>, "rule_id"> & { rule_id: string }>;

/** A rule as the database and the API have it. Times are ISO 8601 in UTC. */
export interface RateLimitRule extends RuleInput {
  readonly created_at: string;
  readonly updated_at: string;
  /** Incremented with each change; the ETag of the rule. */
  readonly version: number;
}

export function isSameInput(rule: RuleInput, input: RuleInput): boolean {
  return (Object.keys(input) as (keyof RuleInput)[]).every((field) => {
    return rule[field] === input[field] || JSON.stringify(rule[field]) === JSON.stringify(input[field]);
  });
}
