import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gcra } from "../algorithms/registry.ts";
import { fingerprint } from "./idempotency-fingerprint.ts";
import type { Action, Operation } from "./store.ts";

const limit = gcra("5/m");
// Few characters, so that requests are often alike and often nearly so.
const name = fc.string({ unit: fc.constantFrom("a", '"', ",", "[", "]", "1", "\\", "\ud800", "\udc00"), maxLength: 3 });
const operations = fc.array(
  fc.record({
    rule: name.map((each) => ({ name: each, limit })),
    key: name,
    cost: fc.constantFrom(0, 1, 11, 2 ** 53 - 2, 2 ** 53 - 1),
  }),
  { minLength: 1, maxLength: 2 },
);
const action = fc.constantFrom<Action>("take", "refund");

describe("the fingerprint of a request", () => {
  it("is the same for the same request, and for no other", () => {
    fc.assert(
      fc.property(action, operations, action, operations, (a, some, b, others) => {
        expect(fingerprint(a, some) === fingerprint(b, others)).toBe(a === b && alike(some, others));
        expect(fingerprint(a, some)).toBe(fingerprint(a, structuredClone(some)));
      }),
      { numRuns: 2_000 },
    );
  });

  it("does not depend on the limit", () => {
    const asked = (rate: string): Operation[] => [{ rule: { name: "api", limit: gcra(rate) }, key: "k", cost: 1 }];
    expect(fingerprint("take", asked("5/m"))).toBe(fingerprint("take", asked("9/s")));
  });
});

function alike(some: readonly Operation[], others: readonly Operation[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ rule, key, cost }, i) => {
      const other = others[i];
      return rule.name === other.rule.name && key === other.key && cost === other.cost;
    })
  );
}
