import { expect, it } from "vitest";
import type { ListedReservation } from "../../api/types.ts";
import { slotUsages } from "./slot-usage.ts";

function reservation(rule_id: string, identifier: string, cost: number, slots: boolean): ListedReservation {
  const reserved = [{ rule_id, dimension: "user" as const, identifier, cost, slots }];
  return { reservation_id: `${rule_id} ${identifier}`, expires_at_ms: 0, reserved };
}

it("sums up the slots of each key and rule, the fullest first", () => {
  const listed = [
    reservation("jobs", "ann", 1, true),
    reservation("jobs", "bob", 1, true),
    reservation("jobs", "ann", 1, true),
    reservation("tokens", "ann", 500, false),
    reservation("gone", "ann", 1, true),
  ];
  const limits = new Map([["jobs", 3]]);
  expect(
    slotUsages(listed, limits).map(({ rule_id, identifier, used, limit }) => [rule_id, identifier, used, limit]),
  ).toEqual([
    ["jobs", "ann", 2, 3],
    ["jobs", "bob", 1, 3],
    ["gone", "ann", 1, undefined],
  ]);
});
