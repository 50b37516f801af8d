import { describe, expect, it } from "vitest";
import { type MakeStore, operation, remaining, rule, withStore } from "./context.ts";
import { DIGITS, longRate, subjects } from "./subjects.ts";

/** A request with several operations: charged to all of them, or to none. */
export function atomicity(makeStore: MakeStore): void {
  // Each kind of limit beside each other one.
  const pairs = subjects.flatMap((first, i) => {
    const second = subjects[(i + 1) % subjects.length];
    return { name: `${first.name} and ${second.name}`, first, second };
  });

  describe.each(pairs)("$name: one request", ({ first, second }) => {
    const wide = rule("wide", first.make(longRate(10)));
    const narrow = rule("narrow", second.make(longRate(3)));

    it("is charged to both when both have room", () =>
      withStore(makeStore, async ({ store }) => {
        const answers = await store.apply("take", [operation(wide, "k", 4), operation(narrow, "k", 2)]);
        expect(answers.map(({ allowed }) => allowed)).toEqual([true, true]);
        expect(answers[0].remaining).toBeCloseTo(6, DIGITS);
        expect(answers[1].remaining).toBeCloseTo(1, DIGITS);
      }));

    it.each(["second", "first"])(
      "is charged to neither when the %s refuses, and the answers say which did",
      (refusing) =>
        withStore(makeStore, async ({ store }) => {
          const operations = [operation(wide, "k", 4), operation(narrow, "k", 4)];
          if (refusing === "first") operations.reverse();
          const answers = await store.apply("take", operations);
          expect(answers.map(({ allowed }) => allowed)).toEqual([refusing !== "first", refusing !== "second"]);
          for (const [i, answer] of answers.entries()) {
            expect(answer.remaining).toBe(operations[i].rule === wide ? 10 : 3);
            expect(answer.retryAfter).toBe(answer.allowed ? 0 : Number.POSITIVE_INFINITY);
          }
          expect(await remaining(store, wide, "k")).toBe(10);
          expect(await remaining(store, narrow, "k")).toBe(3);
        }),
    );
  });

  describe("one request of several operations", () => {
    const rules = subjects.map(({ name, make }, i) => rule(name, make(longRate(10 + i))));

    it("is charged to every kind of limit at once, answered in the order asked", () =>
      withStore(makeStore, async ({ store }) => {
        const answers = await store.apply(
          "take",
          rules.map((each, i) => operation(each, "k", i)),
        );
        expect(answers.map(({ allowed }) => allowed)).toEqual(rules.map(() => true));
        for (const answer of answers) expect(answer.remaining).toBeCloseTo(10, DIGITS);
      }));

    it("is charged to none of them when the last one refuses", () =>
      withStore(makeStore, async ({ store }) => {
        const last = rules.length - 1;
        const answers = await store.apply(
          "take",
          rules.map((each, i) => operation(each, "k", i === last ? 100 : 1)),
        );
        expect(answers.map(({ allowed }) => allowed)).toEqual(rules.map((_, i) => i !== last));
        for (const [i, each] of rules.entries()) expect(await remaining(store, each, "k")).toBe(10 + i);
      }));

    it("is charged to each of them on its own by charge, also where it is denied", () =>
      withStore(makeStore, async ({ store }) => {
        const last = rules.length - 1;
        const answers = await store.apply(
          "charge",
          rules.map((each, i) => operation(each, "k", i === last ? 100 : 1)),
        );
        expect(answers.map(({ allowed }) => allowed)).toEqual(rules.map((_, i) => i !== last));
        for (const [i, each] of rules.entries()) {
          expect(await remaining(store, each, "k")).toBeCloseTo(i === last ? 0 : 9 + i, DIGITS);
        }
      }));

    it.each(["penalize", "refund", "reset"] as const)("does %s to all of them", (action) =>
      withStore(makeStore, async ({ store }) => {
        await store.apply(
          "take",
          rules.map((each) => operation(each, "k", 5)),
        );
        const answers = await store.apply(
          action,
          rules.map((each) => operation(each, "k", 2)),
        );
        const left = { penalize: 3, refund: 7, reset: 10 }[action];
        for (const [i, answer] of answers.entries()) expect(answer.remaining).toBeCloseTo(left + i, DIGITS);
      }),
    );

    it("does nothing to any of them by peek", () =>
      withStore(makeStore, async ({ store }) => {
        const operations = rules.map((each) => operation(each, "k", 9));
        await store.apply("peek", operations);
        for (const [i, each] of rules.entries()) expect(await remaining(store, each, "k")).toBe(10 + i);
      }));

    it("may span several keys of one rule", (test) =>
      withStore(makeStore, async ({ store, acrossKeys = true }) => {
        if (!acrossKeys) return test.skip("this store keeps a request on one key");
        const [each] = rules;
        await store.apply("take", [operation(each, "b", 7)]);
        const answers = await store.apply("take", [operation(each, "a", 4), operation(each, "b", 4)]);
        expect(answers.map(({ allowed }) => allowed)).toEqual([true, false]);
        expect(await remaining(store, each, "a")).toBe(10);
        expect(await remaining(store, each, "b")).toBeCloseTo(3, DIGITS);
      }));
  });
}
