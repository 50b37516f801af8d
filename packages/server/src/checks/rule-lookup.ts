import { Catalogue } from "../rules/catalogue.ts";
import type { Dimension, RuleInput } from "../rules/rule.ts";
import { type Plan, Plans, planForKey } from "./check-plans.ts";

export { candidateFields, limitOf } from "../rules/shared-counter.ts";

/** Finds the limits of a request, for identities of one dimension without stored data. */
export type RuleLookup = (endpoint: string, method: string | undefined, identifier: string) => Plan;

/** The lookup that checks use, for rules that are not in a service. */
export function ruleLookup(rules: readonly RuleInput[], dimension: Dimension): RuleLookup {
  const stored = { created_at: "", updated_at: "", version: 0 };
  const catalogue = Catalogue.of(rules.map((rule) => ({ ...rule, ...stored })));
  const plans = new Plans();
  const identity = { identifier: "", dimension, cost: 1 };
  return (endpoint, method, identifier) =>
    planForKey(
      plans.of(catalogue, { ...identity, endpoint, method }, undefined, () => 0),
      `${dimension}:${identifier}`,
    );
}
