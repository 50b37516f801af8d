import { suggestion } from "../../config/suggestion.ts";
import type { Catalogue } from "../../rules/catalogue.ts";

/** The existing rules, and the tiers they use. */
export type KnownNames = Pick<Catalogue, "byId" | "tiers">;

/** The warning for a tier that no rule uses: it is stored, but changes no limit. */
export function unknownTierProblem(tier: string, { tiers }: KnownNames): string {
  return `no rule uses the tier ${tier}${suggestion(tier, tiers)}: the limits for users without a tier apply until one does`;
}
