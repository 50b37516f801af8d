import { describe, expect, it } from "vitest";
import { type Action, type Answer, gcra, type Operation, type Store } from "../../../src/index.ts";
import { ask, type MakeStore, operation, remaining, rule, withStore } from "./context.ts";
import { DIGITS, longRate, subjects } from "./subjects.ts";

const FIVE_MINUTES_MS = 300_000;
const once = { idempotencyKey: "once" };

/** Pairs of a key and an idempotency key that are easily taken for one another. */
const lookalikes: readonly (readonly [key: string, idempotencyKey: string])[] = [
  ["a", "b:c"],
  ["a:b", "c"],
  ["a:", "b"],
  ["a", ":b"],
  ["", "a"],
  ["{a}", "b"],
  ["a", "{b}"],
  ["a", "\0"],
  ["a\0", "b"],
  ["a", "\0b"],
  ["a", "__proto__"],
  ["__proto__", "a"],
  ["constructor", "constructor"],
  ["a", "é"],
  ["a", "e\u0301"],
  ["a", "\ud800"],
  ["a", "\ud801"],
  ["a", "\ufffd"],
  ["\ud83d", "\udc4d"],
  ["", "👍"],
  ["a", "x".repeat(255)],
  ["a", `${"x".repeat(254)}y`],
  ["x".repeat(10_000), "a"],
];

/** A request that names itself is done once, however often it is sent. */
export function idempotency(makeStore: MakeStore): void {
  describe.each(subjects)("$name: a request with an idempotency key", ({ make }) => {
    const ten = rule("ten", make(longRate(10)));

    it.each([
      { action: "take", left: 4 },
      { action: "takeFirst", left: 4 },
      { action: "penalize", left: 4 },
      { action: "charge", left: 4 },
      { action: "refund", left: 6 },
    ] as const)("is one $action, and answered alike each time", ({ action, left }) =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", ten, "k", 5);
        const first = await ask(store, action, ten, "k", 1, once);
        expect(first.remaining).toBeCloseTo(left, DIGITS);
        // What happens to the key meanwhile does not show.
        await ask(store, "take", ten, "k", 2);
        for (let i = 0; i < 3; i += 1) expect(await ask(store, action, ten, "k", 1, once)).toEqual(first);
        expect(await remaining(store, ten, "k")).toBeCloseTo(left - 2, DIGITS);
      }),
    );

    it("can be sent until it is allowed, if a denial is not remembered", () =>
      withStore(makeStore, async ({ store }) => {
        const patient = { ...once, forgetsDenial: true };
        await ask(store, "take", ten, "k", 4);
        expect(await ask(store, "take", ten, "k", 7, patient)).toMatchObject({ allowed: false });
        await ask(store, "reset", ten, "k");
        const allowed = await ask(store, "take", ten, "k", 7, patient);
        expect(allowed.allowed).toBe(true);
        for (const options of [patient, once]) expect(await ask(store, "take", ten, "k", 7, options)).toEqual(allowed);
        expect(await remaining(store, ten, "k")).toBeCloseTo(3, DIGITS);
      }));

    it.each([
      { denial: "for now", cost: 7 },
      { denial: "for ever", cost: 11 },
    ])("is refused again when it was refused $denial, though there is room by now", ({ cost }) =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", ten, "k", 4);
        const denied = await ask(store, "take", ten, "k", cost, once);
        expect(denied.allowed).toBe(false);
        await ask(store, "reset", ten, "k");
        expect(await ask(store, "take", ten, "k", cost, once)).toEqual(denied);
        expect(await remaining(store, ten, "k")).toBe(10);
      }),
    );

    it("keeps its answer when the limit changes", () =>
      withStore(makeStore, async ({ store }) => {
        const first = await ask(store, "take", ten, "k", 4, once);
        expect(await ask(store, "take", rule("ten", make(longRate(20))), "k", 4, once)).toEqual(first);
        expect(await remaining(store, ten, "k")).toBeCloseTo(6, DIGITS);
      }));
  });

  describe("a request with an idempotency key", () => {
    const ten = rule("ten", gcra(longRate(10)));
    const other = rule("other", gcra(longRate(10)));
    const all = subjects.map(({ name, make }, i) => rule(name, make(longRate(10 + i))));

    it("is charged once to each of several limits, and answered alike for all", () =>
      withStore(makeStore, async ({ store }) => {
        const operations = all.map((each, i) => operation(each, "k", 2 + i));
        const first = await store.apply("take", operations, once);
        expect(first.map(({ allowed }) => allowed)).toEqual(all.map(() => true));
        expect(await store.apply("take", operations, once)).toEqual(first);
        for (const each of all) expect(await remaining(store, each, "k")).toBeCloseTo(8, DIGITS);
      }));

    it("is refused again as a whole when one of its limits refused", () =>
      withStore(makeStore, async ({ store }) => {
        const operations = [operation(ten, "k", 2), operation(other, "k", 11)];
        const first = await store.apply("take", operations, once);
        expect(first.map(({ allowed }) => allowed)).toEqual([true, false]);
        expect(await store.apply("take", operations, once)).toEqual(first);
        for (const each of [ten, other]) expect(await remaining(store, each, "k")).toBe(10);
      }));

    it.each(["take", "takeFirst", "charge", "penalize"] as const)(
      "is one %s when it is sent many times at once",
      (action) =>
        withStore(makeStore, async ({ store }) => {
          const answers = await Promise.all(Array.from({ length: 25 }, () => ask(store, action, ten, "k", 3, once)));
          for (const answer of answers) expect(answer).toEqual(answers[0]);
          expect(answers[0].allowed).toBe(true);
          expect(await remaining(store, ten, "k")).toBeCloseTo(7, DIGITS);
        }),
    );

    it("is one refund when it is sent many times at once", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", ten, "k", 10);
        await Promise.all(Array.from({ length: 25 }, () => ask(store, "refund", ten, "k", 3, once)));
        expect(await remaining(store, ten, "k")).toBeCloseTo(3, DIGITS);
      }));

    it("is apart from the same request under another, and from one without", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", ten, "k", 1, once);
        const under = (idempotencyKey: string): Promise<Answer> => ask(store, "take", ten, "k", 1, { idempotencyKey });
        await Promise.all(["Once", "once ", "twice", "1"].map(under));
        for (let i = 0; i < 2; i += 1) await ask(store, "take", ten, "k");
        expect(await remaining(store, ten, "k")).toBeCloseTo(3, DIGITS);
      }));

    it.each<{ difference: string; action: Action; operations: Operation[] }>([
      { difference: "another cost", action: "take", operations: [operation(ten, "k", 3)] },
      { difference: "a cost of nothing", action: "take", operations: [operation(ten, "k", 0)] },
      { difference: "another rule", action: "take", operations: [operation(other, "k", 2)] },
      { difference: "another action", action: "penalize", operations: [operation(ten, "k", 2)] },
      { difference: "alternatives", action: "takeFirst", operations: [operation(ten, "k", 2)] },
      { difference: "the opposite action", action: "refund", operations: [operation(ten, "k", 2)] },
      {
        difference: "one more rule",
        action: "take",
        operations: [operation(ten, "k", 2), operation(other, "k", 2)],
      },
    ])("conflicts with $difference, which charges nothing", ({ action, operations }) =>
      withStore(makeStore, async ({ store }) => {
        const first = await ask(store, "take", ten, "k", 2, once);
        await conflicts(store, action, operations);
        expect(await remaining(store, ten, "k")).toBeCloseTo(8, DIGITS);
        expect(await remaining(store, other, "k")).toBe(10);
        // The first request is still in force.
        expect(await ask(store, "take", ten, "k", 2, once)).toEqual(first);
      }),
    );

    it("conflicts with its own limits in another order, or with fewer of them", () =>
      withStore(makeStore, async ({ store }) => {
        const operations = [operation(ten, "k", 2), operation(other, "k", 2)];
        await store.apply("take", operations, once);
        await conflicts(store, "take", [...operations].reverse());
        await conflicts(store, "take", operations.slice(0, 1));
        for (const each of [ten, other]) expect(await remaining(store, each, "k")).toBeCloseTo(8, DIGITS);
      }));

    it("conflicts with another second key", (test) =>
      withStore(makeStore, async ({ store, acrossKeys = true }) => {
        if (!acrossKeys) return test.skip("this store keeps a request on one key");
        await store.apply("take", [operation(ten, "k"), operation(other, "l")], once);
        await conflicts(store, "take", [operation(ten, "k"), operation(other, "m")]);
        expect(await remaining(store, other, "m")).toBe(10);
      }));

    it("conflicts with the same request about something else, which charges nothing", () =>
      withStore(makeStore, async ({ store }) => {
        const about = (context: string) => ask(store, "take", ten, "k", 2, { ...once, context });
        const first = await about("/orders");
        expect(await about("/orders")).toEqual(first);
        for (const other of ["/users", "", '["other","k",2]']) {
          await expect(about(other)).rejects.toMatchObject({ code: "HG_IDEMPOTENCY_CONFLICT" });
        }
        await conflicts(store, "take", [operation(ten, "k", 2)]);
        expect(await remaining(store, ten, "k")).toBeCloseTo(8, DIGITS);
      }));

    it("is also the same after it was denied, and conflicts then as well", () =>
      withStore(makeStore, async ({ store }) => {
        expect(await ask(store, "take", ten, "k", 11, once)).toMatchObject({ allowed: false });
        await conflicts(store, "take", [operation(ten, "k", 10)]);
        expect(await remaining(store, ten, "k")).toBe(10);
      }));

    it("is apart for each identity, whatever is in the names", () =>
      withStore(makeStore, async ({ store }) => {
        const thousand = rule("thousand", gcra(longRate(1000)));
        const used = new Map<string, number>();
        for (const [i, [key, idempotencyKey]] of lookalikes.entries()) {
          // Were it taken for one of those before, it would conflict, for each costs something else.
          const cost = i + 1;
          for (let n = 0; n < 2; n += 1) await ask(store, "take", thousand, key, cost, { idempotencyKey });
          used.set(key, (used.get(key) ?? 0) + cost);
        }
        for (const [key, cost] of used) expect(await remaining(store, thousand, key)).toBeCloseTo(1000 - cost, DIGITS);
      }));

    it("is forgotten after five minutes, and then executed again", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        const first = await ask(store, "take", ten, "k", 2, once);
        await clock.advance(FIVE_MINUTES_MS - 1);
        expect(await ask(store, "take", ten, "k", 2, once)).toEqual(first);
        await clock.advance(1);
        // Another request may have the name now; asking again has not made it last longer.
        expect((await ask(store, "take", ten, "k", 3, once)).remaining).toBeCloseTo(5, DIGITS);
        await clock.advance(FIVE_MINUTES_MS - 1);
        await conflicts(store, "take", [operation(ten, "k", 2)]);
        expect((await ask(store, "take", ten, "k", 3, once)).remaining).toBeCloseTo(5, DIGITS);
      }));
  });
}

async function conflicts(store: Store, action: Action, operations: readonly Operation[]): Promise<void> {
  const answer = (async () => store.apply(action, operations, once))();
  await expect(answer).rejects.toMatchObject({
    name: "HeadgateError",
    code: "HG_IDEMPOTENCY_CONFLICT",
    field: "idempotencyKey",
  });
}
