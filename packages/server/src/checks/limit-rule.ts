import { isLeasable, type Limit, type Rule } from "headgate";
import type { Applied } from "../rules/family.ts";
import type { Consistency, OnError, RateLimitRule } from "../rules/rule.ts";
import type { KeyStates } from "./usage-states.ts";

/** Patterns have no such characters. */
const SEPARATOR = "\n";

/**
 * A limit that applies, as an operation carries it to the stores. Families share a name, whatever their members'
 * limits are, so that a user who changes tier keeps what he has used. Shared stores keep each key on its own, and
 * take that name. What keeps the keys of one name together in this process needs other names.
 */
export class LimitRule implements Rule {
  /** No other limit in force has it: wrappers of a store know one limit by each name. */
  readonly name: string;
  readonly limit: Limit;
  /** What shared stores take. */
  readonly family: Rule;
  /** What the memory store takes: it has one algorithm by each name, as Redis's keys have. */
  readonly local: Rule;
  readonly definition: RateLimitRule;
  readonly from: Applied["from"];
  /** Of what cannot be leased, the store itself decides. */
  readonly consistency: Consistency;
  /** How the family's keys stand. */
  readonly states: KeyStates;

  constructor({ definition, rule, from }: Applied, states: KeyStates) {
    const { algorithm, limit, burst } = rule.limit;
    const { rule_id, on_error, consistency } = definition;
    this.name = [rule.name, rule_id, from, limit, burst, on_error].join(SEPARATOR);
    this.limit = rule.limit;
    this.family = rule;
    this.local = { name: `${rule.name}:${algorithm}`, limit: rule.limit };
    this.definition = definition;
    this.from = from;
    this.consistency = consistency === "leased" && !isLeasable(rule.limit) ? "strict" : consistency;
    this.states = states;
  }
}

/** The family's name in that of a limit: wrappers make rules of their own under the same name, as leases do. */
export function familyIn(name: string): string {
  return name.split(SEPARATOR, 1)[0];
}

export function onErrorIn(name: string): OnError {
  const onError = name.slice(name.lastIndexOf(SEPARATOR) + 1);
  return onError === "allow" || onError === "deny" ? onError : "local";
}
