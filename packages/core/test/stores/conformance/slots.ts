import { describe, expect, it } from "vitest";
import {
  type Action,
  type Answer,
  concurrency,
  gcra,
  type Operation,
  type Rule,
  type Store,
} from "../../../src/index.ts";
import { ask, type MakeStore, operation, rule, withStore } from "./context.ts";
import { DIGITS, longRate } from "./subjects.ts";

const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;

/** Slots of a reservation, leased for ten minutes unless stated. */
function slots(of: Rule, key: string, id: string, cost = 1, forUs = 10 * MINUTE): Operation {
  return { rule: of, key, cost, slot: { id, forUs } };
}

/** One operation on slots, and the one answer to it. */
async function act(store: Store, action: Action, operation: Operation): Promise<Answer> {
  const answers = await store.apply(action, [operation]);
  if (answers.length !== 1) throw new Error(`one operation got ${answers.length} answers`);
  return answers[0];
}

/** What every store with slots must do. */
export function slotActions(makeStore: MakeStore): void {
  describe("slots", () => {
    const three = rule("three", concurrency(3));

    it("are taken until none is left, and the denial says when one is free at the latest", () =>
      withStore(makeStore, async ({ store }) => {
        for (const [i, id] of ["a", "b", "c"].entries()) {
          const taken = await act(store, "take", slots(three, "k", id, 1, (5 + i) * MINUTE));
          expect(taken).toMatchObject({ allowed: true, remaining: 2 - i, inUse: i + 1, retryAfter: 0 });
          expect(taken).not.toHaveProperty("retryIsUpperBound");
        }
        const denied = await act(store, "take", slots(three, "k", "d"));
        expect(denied).toMatchObject({ allowed: false, remaining: 0, inUse: 3, retryIsUpperBound: true });
        expect(denied.retryAfter).toBeGreaterThan(4 * MINUTE);
        // A store that estimates the time of a server may have set its clock back by a little.
        expect(denied.retryAfter).toBeLessThan(5 * MINUTE + SECOND);
        expect(denied.resetAfter).toBeGreaterThan(6 * MINUTE);
        expect(denied.resetAfter).toBeLessThan(7 * MINUTE + SECOND);
      }));

    it("are free again when they are released, for the same key only", () =>
      withStore(makeStore, async ({ store }) => {
        for (const key of ["k", "l"]) await act(store, "take", slots(three, key, `of ${key}`, 3));
        expect(await act(store, "release", slots(three, "k", "of k", 3))).toMatchObject({
          allowed: true,
          remaining: 3,
          inUse: 0,
          resetAfter: 0,
        });
        expect(await act(store, "take", slots(three, "k", "next", 3))).toMatchObject({ allowed: true, inUse: 3 });
        expect(await act(store, "take", slots(three, "l", "next"))).toMatchObject({ allowed: false, inUse: 3 });
      }));

    it("can be taken several at a time, all or none", () =>
      withStore(makeStore, async ({ store }) => {
        expect(await act(store, "take", slots(three, "k", "a", 2))).toMatchObject({ allowed: true, remaining: 1 });
        expect(await act(store, "take", slots(three, "k", "b", 2))).toMatchObject({ allowed: false, remaining: 1 });
        expect(await act(store, "take", slots(three, "k", "c"))).toMatchObject({ allowed: true, remaining: 0 });
        const tooMany = await act(store, "take", slots(three, "k", "d", 4));
        expect(tooMany).toMatchObject({ allowed: false, retryAfter: Number.POSITIVE_INFINITY });
        expect(tooMany).not.toHaveProperty("retryIsUpperBound");
      }));

    it("that a reservation holds already are not taken twice", () =>
      withStore(makeStore, async ({ store }) => {
        for (let i = 0; i < 3; i += 1) {
          expect(await act(store, "take", slots(three, "k", "a", 2))).toMatchObject({ allowed: true, inUse: 2 });
        }
        await act(store, "take", slots(three, "k", "b"));
        // Still its own, though there is no room.
        expect(await act(store, "take", slots(three, "k", "a", 2))).toMatchObject({ allowed: true, inUse: 3 });
        expect(await act(store, "take", slots(three, "k", "a", 3))).toMatchObject({ allowed: false, inUse: 3 });
        await act(store, "release", slots(three, "k", "b"));
        expect(await act(store, "take", slots(three, "k", "a", 3))).toMatchObject({ allowed: true, inUse: 3 });
        expect(await act(store, "release", slots(three, "k", "a", 3))).toMatchObject({ inUse: 0 });
      }));

    it("that were released cannot be taken or extended by a message that comes late", () =>
      withStore(makeStore, async ({ store }) => {
        await act(store, "take", slots(three, "k", "a"));
        for (let i = 0; i < 2; i += 1) {
          expect(await act(store, "release", slots(three, "k", "a"))).toMatchObject({ inUse: 0, remaining: 3 });
        }
        for (const action of ["take", "extend", "take"] as const) {
          expect(await act(store, action, slots(three, "k", "a"))).toMatchObject({
            allowed: false,
            inUse: 0,
            remaining: 3,
            retryAfter: Number.POSITIVE_INFINITY,
          });
        }
        // A release may overtake the request that it ends.
        await act(store, "release", slots(three, "k", "b"));
        expect(await act(store, "take", slots(three, "k", "b"))).toMatchObject({ allowed: false, inUse: 0 });
        expect(await act(store, "take", slots(three, "k", "c"))).toMatchObject({ allowed: true, inUse: 1 });
      }));

    it("are extended one by one, whatever becomes of the others", () =>
      withStore(makeStore, async ({ store }) => {
        await act(store, "take", slots(three, "k", "a", 2));
        await act(store, "take", slots(three, "k", "b"));
        const answers = await store.apply("extend", [
          slots(three, "k", "lost"),
          slots(three, "k", "a", 2, 20 * MINUTE),
          slots(three, "m", "restored", 3),
          slots(three, "k", "b", 1, 15 * MINUTE),
        ]);
        expect(answers.map(({ allowed }) => allowed)).toEqual([false, true, true, true]);
        expect(answers.map(({ inUse }) => inUse)).toEqual([3, 3, 3, 3]);
        expect(answers[0]).toMatchObject({ retryIsUpperBound: true });
        const { retryAfter, resetAfter } = await act(store, "take", slots(three, "k", "c"));
        expect(retryAfter).toBeGreaterThan(14 * MINUTE);
        expect(resetAfter).toBeGreaterThan(19 * MINUTE);
        expect(await act(store, "take", slots(three, "m", "c"))).toMatchObject({ allowed: false, inUse: 3 });
      }));

    it("are extended a thousand at once", () =>
      withStore(makeStore, async ({ store }) => {
        const many = rule("many", concurrency(1_000));
        const held = Array.from({ length: 1_000 }, (_, i) => slots(many, `key ${i % 7}`, `r${i}`));
        await Promise.all(held.map((each) => act(store, "take", each)));
        const answers = await store.apply("extend", held);
        expect(answers.filter(({ allowed }) => allowed)).toHaveLength(1_000);
        const inUse = new Set(answers.map((answer) => answer.inUse));
        expect(inUse).toEqual(new Set([142, 143]));
      }));

    it("are never extended to an earlier time", () =>
      withStore(makeStore, async ({ store }) => {
        await act(store, "take", slots(three, "k", "a", 3, 10 * MINUTE));
        await act(store, "extend", slots(three, "k", "a", 3, MINUTE));
        const { retryAfter } = await act(store, "take", slots(three, "k", "b"));
        expect(retryAfter).toBeGreaterThan(9 * MINUTE);
      }));

    it("are taken together with units, all or nothing, and each answer says whether it denied", () =>
      withStore(makeStore, async ({ store }) => {
        const one = rule("one", concurrency(1));
        const ten = rule("ten", gcra(longRate(10)));
        const both = (id: string, cost: number): Operation[] => [slots(one, "k", id), operation(ten, "k", cost)];
        const taken = await store.apply("take", both("a", 4));
        expect(taken.map(({ allowed }) => allowed)).toEqual([true, true]);
        expect(taken[0].inUse).toBe(1);
        expect(taken[1]).not.toHaveProperty("inUse");
        const noSlot = await store.apply("take", both("b", 4));
        expect(noSlot.map(({ allowed }) => allowed)).toEqual([false, true]);
        expect(noSlot[1].remaining).toBeCloseTo(6, DIGITS);
        await act(store, "release", slots(one, "k", "a"));
        const noUnits = await store.apply("take", both("c", 7));
        expect(noUnits.map(({ allowed }) => allowed)).toEqual([true, false]);
        expect(noUnits[0]).toMatchObject({ remaining: 1, inUse: 0 });
        const repeated = await store.apply("take", both("c", 6));
        expect(repeated.map(({ allowed }) => allowed)).toEqual([true, true]);
      }));

    it("are seen by a peek, which takes none", () =>
      withStore(makeStore, async ({ store }) => {
        await act(store, "take", slots(three, "k", "a", 2));
        expect(await ask(store, "peek", three, "k", 1)).toMatchObject({ allowed: true, remaining: 1, inUse: 2 });
        expect(await ask(store, "peek", three, "k", 2)).toMatchObject({ allowed: false, remaining: 1, inUse: 2 });
        expect(await act(store, "peek", slots(three, "k", "a", 3))).toMatchObject({ allowed: true, inUse: 2 });
        expect(await ask(store, "peek", three, "unused", 3)).toMatchObject({ allowed: true, remaining: 3, inUse: 0 });
      }));

    it("are all free after a reset, and then extended again", () =>
      withStore(makeStore, async ({ store }) => {
        await act(store, "take", slots(three, "k", "a", 2));
        await act(store, "release", slots(three, "k", "b"));
        expect(await ask(store, "reset", three, "k")).toMatchObject({ remaining: 3, inUse: 0, resetAfter: 0 });
        expect(await act(store, "take", slots(three, "k", "b"))).toMatchObject({ allowed: true, inUse: 1 });
        expect(await act(store, "extend", slots(three, "k", "a", 2))).toMatchObject({ allowed: true, inUse: 3 });
      }));

    it("stay in use when the limit is lowered or raised, or comes with the call", () =>
      withStore(makeStore, async ({ store }) => {
        await act(store, "take", slots(three, "k", "a", 2));
        await act(store, "take", slots(three, "k", "b"));
        const lowered = rule("three", concurrency(2));
        expect(await act(store, "take", slots(lowered, "k", "c"))).toMatchObject({
          allowed: false,
          remaining: 0,
          inUse: 3,
        });
        expect(await act(store, "extend", slots(lowered, "k", "a", 2))).toMatchObject({ allowed: true, inUse: 3 });
        await act(store, "release", slots(lowered, "k", "b"));
        expect(await act(store, "take", slots(lowered, "k", "d"))).toMatchObject({ allowed: false, inUse: 2 });
        const own = { ...slots(lowered, "k", "d"), limit: concurrency(4) };
        expect(await act(store, "take", own)).toMatchObject({ allowed: true, remaining: 1, inUse: 3 });
        expect(await act(store, "take", slots(three, "k", "e"))).toMatchObject({ allowed: false, inUse: 3 });
      }));

    it("cannot be penalized, refunded or taken without a holder, and units cannot be extended or released", () =>
      withStore(makeStore, async ({ store }) => {
        const ten = rule("ten", gcra(longRate(10)));
        const tried: [Action, Operation][] = [
          ["takeFirst", slots(three, "k", "a")],
          ["penalize", slots(three, "k", "a")],
          ["refund", slots(three, "k", "a")],
          ["take", operation(three, "k")],
          ["extend", operation(three, "k")],
          ["release", operation(three, "k")],
          ["extend", slots(ten, "k", "a")],
          ["release", slots(ten, "k", "a")],
        ];
        for (const [action, each] of tried) {
          const attempt = (async () => store.apply(action, [each]))();
          await expect(attempt).rejects.toMatchObject({ name: "HeadgateError", code: "HG_NEEDS_SLOT", field: "rule" });
        }
        expect(await ask(store, "peek", three, "k", 0)).toMatchObject({ remaining: 3, inUse: 0 });
        expect(await ask(store, "peek", ten, "k", 0)).toMatchObject({ remaining: 10 });
      }));

    it("are taken once under an idempotency key, with the same answers", () =>
      withStore(makeStore, async ({ store }) => {
        const ten = rule("ten", gcra(longRate(10)));
        const once = { idempotencyKey: "once" };
        const both = (id: string): Operation[] => [slots(three, "k", id, 2), operation(ten, "k", 4)];
        const first = await store.apply("take", both("a"), once);
        await act(store, "take", slots(three, "k", "b"));
        expect(await store.apply("take", both("a"), once)).toEqual(first);
        const another = (async () => store.apply("take", both("c"), once))();
        await expect(another).rejects.toMatchObject({ code: "HG_IDEMPOTENCY_CONFLICT" });
        const denied = await store.apply("take", [slots(three, "k", "d")], { idempotencyKey: "denied" });
        expect(denied[0]).toMatchObject({ allowed: false, inUse: 3, retryIsUpperBound: true });
        await act(store, "release", slots(three, "k", "a", 2));
        expect(await store.apply("take", [slots(three, "k", "d")], { idempotencyKey: "denied" })).toEqual(denied);
      }));

    it("belong to reservations whatever is in their names", () =>
      withStore(makeStore, async ({ store }) => {
        const ids = ["", " ", "a:b", "{x}", "__proto__", "*", ":", "\0", "a\0b", "é", "e\u0301", "\ud800", "\ud801"];
        const all = rule("all", concurrency(100));
        const longer = [...ids, "x".repeat(300), `${"x".repeat(299)}y`];
        for (const [i, id] of longer.entries()) {
          expect(await act(store, "take", slots(all, "k", id))).toMatchObject({ allowed: true, inUse: i + 1 });
        }
        for (const [i, id] of longer.entries()) {
          expect(await act(store, "release", slots(all, "k", id))).toMatchObject({ inUse: longer.length - 1 - i });
        }
      }));

    it("are free when their lease ends, and not a microsecond earlier", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        await act(store, "take", slots(three, "k", "a", 2, 10 * SECOND));
        await act(store, "take", slots(three, "k", "b", 1, 20 * SECOND));
        const denied = { allowed: false, inUse: 3, retryAfter: 10 * SECOND, resetAfter: 20 * SECOND };
        expect(await act(store, "take", slots(three, "k", "c", 2))).toMatchObject(denied);
        expect(await act(store, "take", slots(three, "k", "c", 3))).toMatchObject({ retryAfter: 20 * SECOND });
        await clock.advance(10_000 - 0.001);
        expect(await act(store, "take", slots(three, "k", "c", 2))).toMatchObject({ allowed: false, retryAfter: 1 });
        await clock.advance(0.001);
        expect(await act(store, "take", slots(three, "k", "c", 2))).toMatchObject({ allowed: true, inUse: 3 });
        // The lease has ended, and another reservation has the slots.
        expect(await act(store, "extend", slots(three, "k", "a", 2))).toMatchObject({ allowed: false, inUse: 3 });
      }));

    it("can be taken again by the same reservation when its tombstone has expired", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        const a = (forUs: number): Operation => slots(three, "k", "a", 1, forUs);
        await act(store, "take", a(30 * SECOND));
        // The tombstone lasts until the lease would have ended, and the time of the release.
        await act(store, "release", a(10 * SECOND));
        await clock.advance(30_000 - 0.001);
        expect(await act(store, "take", a(SECOND))).toMatchObject({ allowed: false, inUse: 0 });
        await act(store, "release", a(10 * SECOND));
        await clock.advance(10_000 - 0.001);
        expect(await act(store, "extend", a(SECOND))).toMatchObject({ allowed: false, inUse: 0 });
        await clock.advance(0.001);
        expect(await act(store, "take", a(SECOND))).toMatchObject({ allowed: true, inUse: 1 });
      }));
  });
}
