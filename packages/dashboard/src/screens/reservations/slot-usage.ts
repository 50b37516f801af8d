import type { Dimension, ListedReservation } from "../../api/types.ts";

/** How many slots of a rule a key has in use. */
export interface SlotUsage {
  readonly rule_id: string;
  readonly dimension: Dimension;
  readonly identifier: string;
  readonly used: number;
  /** How many there are, if that is known. */
  readonly limit: number | undefined;
}

/** Those with the fewest free slots first. */
export function slotUsages(
  reservations: readonly ListedReservation[],
  limits: ReadonlyMap<string, number>,
): readonly SlotUsage[] {
  const usages = new Map<string, SlotUsage>();
  for (const { rule_id, dimension, identifier, cost, slots } of reservations.flatMap(({ reserved }) => reserved)) {
    if (!slots) continue;
    const name = JSON.stringify([rule_id, dimension, identifier]);
    const used = (usages.get(name)?.used ?? 0) + cost;
    usages.set(name, { rule_id, dimension, identifier, used, limit: limits.get(rule_id) });
  }
  return [...usages.values()].sort((a, b) => freeOf(a) - freeOf(b) || b.used - a.used);
}

function freeOf({ used, limit = Number.POSITIVE_INFINITY }: SlotUsage): number {
  return Math.min(limit - used, Number.MAX_SAFE_INTEGER);
}
