import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Answer, Operation, Rule, Store } from "../../../src/index.ts";
import { ask, type MakeStore, operation, remaining, rule, withStore } from "./context.ts";
import { DIGITS, longRate, subjects } from "./subjects.ts";

const once = { idempotencyKey: "once" };

/** A request with alternatives: charged to the first that has room, and to no other. */
export function takeFirst(makeStore: MakeStore): void {
  const pairs = subjects.flatMap((first, i) => {
    const second = subjects[(i + 1) % subjects.length];
    return { name: `${first.name}, then ${second.name}`, first, second };
  });

  describe.each(pairs)("$name: the first with room", ({ first, second }) => {
    const plan = rule("plan", first.make(longRate(3)));
    const credits = rule("credits", second.make(longRate(10)));
    const either = (cost: number): Operation[] => [operation(plan, "k", cost), operation(credits, "k", cost)];

    it("is charged alone, and the answers after it are those of a peek", () =>
      withStore(makeStore, async ({ store }) => {
        const answers = await store.apply("takeFirst", either(2));
        expectAnswers(answers, [
          { allowed: true, remaining: 1 },
          { allowed: true, remaining: 10 },
        ]);
        expect(answers.map(({ retryAfter }) => retryAfter)).toEqual([0, 0]);
        await expectLeft(store, [plan, credits], [1, 10]);
      }));

    it("is the second if the first is denied, which then changes nothing", () =>
      withStore(makeStore, async ({ store }) => {
        await store.apply("takeFirst", either(2));
        const answers = await store.apply("takeFirst", either(2));
        expectAnswers(answers, [
          { allowed: false, remaining: 1 },
          { allowed: true, remaining: 8 },
        ]);
        expect(answers[0].retryAfter).toBeGreaterThan(0);
        // What is left of the first is still there for a smaller request.
        expectAnswers(await store.apply("takeFirst", either(1)), [
          { allowed: true, remaining: 0 },
          { allowed: true, remaining: 8 },
        ]);
        await expectLeft(store, [plan, credits], [0, 8]);
      }));

    it("is none if all are denied", () =>
      withStore(makeStore, async ({ store }) => {
        await store.apply("takeFirst", either(9));
        expectAnswers(await store.apply("takeFirst", either(4)), [
          { allowed: false, remaining: 3 },
          { allowed: false, remaining: 1 },
        ]);
        await expectLeft(store, [plan, credits], [3, 1]);
      }));

    it("is charged as often as it has room by requests at the same time, and then the next one", () =>
      withStore(makeStore, async ({ store }) => {
        const all = await Promise.all(Array.from({ length: 20 }, () => store.apply("takeFirst", either(1))));
        const charged = all.map((answers) => answers.findIndex(({ allowed }) => allowed));
        expect([0, 1, -1].map((which) => charged.filter((each) => each === which).length)).toEqual([3, 10, 7]);
        await expectLeft(store, [plan, credits], [0, 0]);
      }));

    it("is charged once under an idempotency key, and answered alike each time", () =>
      withStore(makeStore, async ({ store }) => {
        await store.apply("takeFirst", either(3));
        const answers = await store.apply("takeFirst", either(2), once);
        expect(answers.map(({ allowed }) => allowed)).toEqual([false, true]);
        await store.apply("reset", [operation(plan, "k")]);
        // The first has room again, but this request has been charged.
        expect(await store.apply("takeFirst", either(2), once)).toEqual(answers);
        await expect(Promise.resolve().then(() => store.apply("take", either(2), once))).rejects.toMatchObject({
          code: "HG_IDEMPOTENCY_CONFLICT",
        });
        await expectLeft(store, [plan, credits], [3, 8]);
      }));
  });

  describe("alternatives", () => {
    const rules = subjects.map(({ name, make }, i) => rule(name, make(longRate(2 + (i % 4)))));

    it("are declared by the store", () =>
      withStore(makeStore, async ({ store }) => {
        expect(store.takesFirst).toBe(true);
      }));

    it("of one are decided as a take", () =>
      withStore(makeStore, async ({ store }) => {
        for (const each of rules) {
          for (const cost of [1, 0, 2, 1, 3, 1]) {
            const [taken, first] = [
              await ask(store, "take", each, "k", cost),
              await ask(store, "takeFirst", each, "l", cost),
            ];
            expectAnswers([first], [taken]);
          }
        }
      }));

    it("of no cost take nothing, and are the first with room", () =>
      withStore(makeStore, async ({ store }) => {
        const [a, b] = rules;
        const answers = await store.apply("takeFirst", [operation(a, "k", 0), operation(b, "k", 1)]);
        expect(answers.map(({ allowed }) => allowed)).toEqual([true, true]);
        for (const each of [a, b]) expect(await remaining(store, each, "k")).toBe(each.limit.limit);
      }));

    it("may have several keys", (test) =>
      withStore(makeStore, async ({ store, acrossKeys = true }) => {
        if (!acrossKeys) return test.skip("this store keeps a request on one key");
        const [each] = rules;
        const operations = ["user", "team", "company"].map((key) => operation(each, key, 2));
        for (let charged = 0; charged < operations.length; charged += 1) {
          const answers = await store.apply("takeFirst", operations);
          expect(answers.findIndex(({ allowed }) => allowed)).toBe(charged);
        }
        const answers = await store.apply("takeFirst", operations);
        expect(answers.map(({ allowed }) => allowed)).toEqual([false, false, false]);
      }));

    const step = fc.record({
      order: fc.uniqueArray(fc.nat(rules.length - 1), { minLength: 1, maxLength: 4 }),
      costs: fc.array(fc.nat(4), { minLength: 4, maxLength: 4 }),
      action: fc.constantFrom("takeFirst", "takeFirst", "takeFirst", "take", "refund", "penalize"),
    });

    it("follow a model: at most one is charged, it is the first with room, and nothing else changes", () =>
      fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) =>
          withStore(makeStore, async ({ store }) => {
            const used = rules.map(() => 0);
            const left = (i: number): number => Math.max(0, rules[i].limit.limit - used[i]);
            for (const { order, costs, action } of steps) {
              const operations = order.map((i, at) => operation(rules[i], "k", costs[at]));
              if (action !== "takeFirst") {
                const [{ allowed }] = await store.apply(action, operations.slice(0, 1));
                if (action === "penalize" || (action === "take" && allowed)) used[order[0]] += costs[0];
                if (action === "refund") used[order[0]] = Math.max(0, used[order[0]] - costs[0]);
                continue;
              }
              const hasRoom = order.map((i, at) => used[i] + costs[at] <= rules[i].limit.limit);
              const charged = hasRoom.indexOf(true);
              if (charged >= 0) used[order[charged]] += costs[charged];
              const expected = order.map((i, at) => ({ allowed: hasRoom[at], remaining: left(i) }));
              expectAnswers(await store.apply("takeFirst", operations), expected);
              for (const i of rules.keys()) {
                expect(await remaining(store, rules[i], "k")).toBeCloseTo(left(i), DIGITS);
              }
            }
          }),
        ),
        { numRuns: 20 },
      ));
  });
}

function expectAnswers(
  answers: readonly Answer[],
  expected: readonly { readonly allowed: boolean; readonly remaining: number }[],
): void {
  expect(answers.map(({ allowed }) => allowed)).toEqual(expected.map(({ allowed }) => allowed));
  for (const [i, answer] of answers.entries()) expect(answer.remaining).toBeCloseTo(expected[i].remaining, DIGITS);
}

async function expectLeft(store: Store, rules: readonly Rule[], left: readonly number[]): Promise<void> {
  for (const [i, each] of rules.entries()) expect(await remaining(store, each, "k")).toBeCloseTo(left[i], DIGITS);
}
