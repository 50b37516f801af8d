import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce, type Work } from "./cooperative-work.ts";
import { countUpTo, isAmong, sortedById } from "./merge-sort.ts";

const rules = (ids: readonly string[]) => ids.map((rule_id) => ({ rule_id }));
const idsOf = (items: readonly { readonly rule_id: string }[]) => items.map(({ rule_id }) => rule_id);

function stepsOf(work: Work<unknown>): number {
  let steps = 0;
  while (work.next().done !== true) steps += 1;
  return steps;
}

describe("rules by id", () => {
  it("are sorted, however they came", () => {
    const many = Array.from({ length: 5_500 }, (_, i) => `r${(i * 7_919) % 5_500}`);
    expect(idsOf(atOnce(sortedById(rules(many))))).toEqual(many.toSorted());
    fc.assert(
      fc.property(fc.array(fc.string()), (ids) => {
        expect(idsOf(atOnce(sortedById(rules(ids))))).toEqual(ids.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
      }),
    );
  });

  it("are sorted in steps, and left alone if they are in order", () => {
    const sorted = rules(Array.from({ length: 10_000 }, (_, i) => String(100_000 + i)));
    expect(atOnce(sortedById(sorted))).toBe(sorted);
    expect(stepsOf(sortedById(sorted))).toBeGreaterThan(5);
    expect(stepsOf(sortedById(sorted.toReversed()))).toBeGreaterThan(40);
  });

  it("are found by halves", () => {
    const some = rules(["b", "d", "f"]);
    expect(["a", "b", "c", "f", "g"].map((id) => countUpTo(some, id))).toEqual([0, 1, 1, 3, 3]);
    expect(["a", "b", "c", "f", "g", ""].map((id) => isAmong(some, id))).toEqual([
      false,
      true,
      false,
      true,
      false,
      false,
    ]);
  });
});
