import { suggestion } from "../../config/suggestion.ts";
import type { Catalogue } from "../../rules/catalogue.ts";

/** The rules that exist, and the tiers that they name. */
export type KnownNames = Pick<Catalogue, "byId" | "tiers">;

/** What to tell an admin who gives a user a tier that no rule names: it is stored, and changes no limit. */
export function unknownTierProblem(tier: string, { tiers }: KnownNames): string {
  return `no rule names the tier ${tier}${suggestion(tier, tiers)}: the limits for users without a tier apply until one does`;
}
