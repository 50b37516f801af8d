import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Action, Answer, Limit } from "../../../src/index.ts";
import { askedCost } from "../../../src/stores/store.ts";
import { ask, type MakeStore, operation, rule, withStore } from "./context.ts";
import { longRate, subjects } from "./subjects.ts";

const LARGEST = Number.MAX_SAFE_INTEGER;

const requests = fc.array(
  fc.record({
    action: fc.constantFrom<Action>("take", "take", "takeFirst", "charge", "peek", "penalize", "refund", "reset"),
    key: fc.constantFrom("a", "b", "c"),
    cost: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constantFrom(LARGEST - 1, LARGEST)),
    advance: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 30_000_000 })),
  }),
  { maxLength: 40 },
);

/** Whatever is asked, an answer holds together. */
export function numbers(makeStore: MakeStore): void {
  describe.each(subjects)("$name: the numbers of an answer", ({ make }) => {
    it("hold together after any sequence of requests", () =>
      fc.assert(
        fc.asyncProperty(requests, (sequence) =>
          withStore(makeStore, async ({ store, clock }) => {
            const ten = rule("ten", make({ limit: 10, windowMs: 10_000 }));
            for (const { action, key, cost, advance } of sequence) {
              await clock?.advance(advance / 1000);
              const answer = await ask(store, action, ten, key, cost);
              holdsTogether(answer, ten.limit, askedCost(action, operation(ten, key, cost)));
            }
          }),
        ),
        { numRuns: 30 },
      ));

    it("stay finite however much a key is penalized, and a reset clears it", () =>
      withStore(makeStore, async ({ store }) => {
        const ten = rule("ten", make(longRate(10)));
        for (let i = 0; i < 4; i += 1) holdsTogether(await ask(store, "penalize", ten, "k", LARGEST), ten.limit, 1);
        const denied = await ask(store, "take", ten, "k", 1);
        expect(denied).toMatchObject({ allowed: false, remaining: 0 });
        expect(denied.retryAfter).toBeLessThan(Number.POSITIVE_INFINITY);
        expect(await ask(store, "reset", ten, "k")).toMatchObject({ remaining: 10, resetAfter: 0 });
      }));
  });
}

function holdsTogether(answer: Answer, limit: Limit, cost: number): void {
  const { allowed, remaining, retryAfter, resetAfter, source, degraded } = answer;
  expect(remaining).toBeGreaterThanOrEqual(0);
  expect(remaining).toBeLessThanOrEqual(limit.burst);
  expect(Number.isFinite(resetAfter) && resetAfter >= 0).toBe(true);
  // 0 just when it is allowed, "never" just when the cost is more than the limit holds.
  expect(retryAfter === 0).toBe(allowed);
  expect(retryAfter === Number.POSITIVE_INFINITY).toBe(cost > limit.burst);
  expect(Number.isNaN(retryAfter)).toBe(false);
  expect(source).toBe("store");
  expect(degraded).toBe(false);
}
