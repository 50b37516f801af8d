import type { ListedReservation } from "headgate/store";
import { DIMENSIONS, type Dimension } from "../../rules/rule.ts";

/** What is reserved under one rule, as clients see it. */
export interface ReservedFields {
  readonly rule_id: string;
  readonly dimension: Dimension;
  readonly identifier: string;
  readonly cost: number;
  readonly slots: boolean;
}

export interface ReservationFields {
  readonly reservation_id: string;
  readonly owner: string | null;
  readonly made_at_ms: number;
  readonly expires_at_ms: number;
  readonly reserved: ReservedFields[];
}

/** A reservation as clients see it. */
export function reservationFields({ id, owner, madeAtMs, deadlineMs, checks }: ListedReservation): ReservationFields {
  return {
    reservation_id: id,
    owner: owner ?? null,
    made_at_ms: Math.floor(madeAtMs),
    expires_at_ms: Math.ceil(deadlineMs),
    reserved: checks.map(({ rule, key, cost, isSlots }) => ({
      rule_id: rule,
      ...identityIn(key),
      cost,
      slots: isSlots,
    })),
  };
}

/** Keys are `user:12345`. */
function identityIn(key: string): Pick<ReservedFields, "dimension" | "identifier"> {
  const dimension = DIMENSIONS.find((each) => key.startsWith(`${each}:`)) ?? "user";
  return { dimension, identifier: key.slice(dimension.length + 1) };
}
