import { suggestion } from "../../config/suggestion.ts";
import type { RateLimitRule } from "../../rules/rule.ts";

/** The rules there are, and the tiers that they name. */
export interface KnownNames {
  readonly rules: ReadonlySet<string>;
  readonly tiers: ReadonlySet<string>;
}

/** With very many rules, collecting them takes longer than a request may. A list of rules never changes. */
const names = new WeakMap<readonly RateLimitRule[], KnownNames>();

export function namesIn(rules: readonly RateLimitRule[]): KnownNames {
  let known = names.get(rules);
  if (known === undefined) {
    const tiers = new Set<string>();
    for (const { tier } of rules) if (tier !== null) tiers.add(tier);
    known = { rules: new Set(rules.map(({ rule_id }) => rule_id)), tiers };
    names.set(rules, known);
  }
  return known;
}

/** What to tell an admin who gives a user a tier that no rule names: it is stored, and changes no limit. */
export function unknownTierProblem(tier: string, { tiers }: KnownNames): string {
  return `no rule names the tier ${tier}${suggestion(tier, tiers)}: the limits for users without a tier apply until one does`;
}
