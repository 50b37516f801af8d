import { must, oneOf, readOptions } from "../../options.ts";
import type { Operation, Rule } from "../../stores/store.ts";

/**
 * What to do while the store fails:
 * - `local`: this process enforces its share of the limit in memory.
 * - `allow`: requests are admitted, except for keys that the store has denied and costs that the limit can never hold.
 * - `deny`: requests are denied.
 */
export type Policy = "local" | "allow" | "deny";

/**
 * One policy for all rules, policies by rule name with a default (`local` unless set), or a function that returns the
 * policy of a rule.
 */
export type OnError =
  | Policy
  | { readonly default?: Policy; readonly rules?: Readonly<Record<string, Policy>> }
  | ((rule: Rule) => Policy);

/** From lenient to strict. */
const LADDER: readonly Policy[] = ["allow", "local", "deny"];

const requirePolicy = oneOf("local", "allow", "deny");
const requirePolicies = must(
  "an object of policies by rule name",
  (rules) => typeof rules === "object" && rules !== null && !Array.isArray(rules),
);

/** Determines the policy of a request. */
export class Policies {
  private readonly of: (rule: Rule) => Policy;

  constructor(onError: OnError) {
    if (typeof onError === "function") {
      this.of = (rule) => {
        const policy = onError(rule);
        requirePolicy(policy, "onError");
        return policy;
      };
      return;
    }
    if (typeof onError === "string") {
      requirePolicy(onError, "onError");
      this.of = () => onError;
      return;
    }
    const requirements = { default: requirePolicy, rules: requirePolicies };
    const { default: fallback = "local", rules = {} } = readOptions(onError, requirements, { at: "onError." });
    for (const [name, policy] of Object.entries(rules)) requirePolicy(policy, `onError.rules.${name}`);
    const byName = new Map(Object.entries(rules));
    this.of = ({ name }) => byName.get(name) ?? fallback;
  }

  /** A request is decided as a whole, so the strictest policy of its rules applies. */
  strictest(operations: readonly Operation[]): Policy {
    const rungs = operations.map(({ rule }) => LADDER.indexOf(rule.onError ?? this.of(rule)));
    return LADDER[Math.max(...rungs, 0)];
  }
}
