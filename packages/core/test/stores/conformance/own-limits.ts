import { describe, expect, it } from "vitest";
import type { Answer, Limit, Rule, Store } from "../../../src/index.ts";
import { ask, type MakeStore, remaining, rule, withStore } from "./context.ts";
import { DIGITS, longRate, subjects } from "./subjects.ts";

/** A limit that comes with the call: it decides for that call, on the rule's counter. */
export function ownLimits(makeStore: MakeStore): void {
  describe.each(subjects)("$name: a limit given with the call", ({ make }) => {
    const api = rule("api", make(longRate(10)));
    const four = make(longRate(4));
    const twenty = make(longRate(20));

    it("denies for this call what the rule's would allow", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", api, "k", 6);
        expect(await take(store, api, "k", 1, four)).toMatchObject({ allowed: false, remaining: 0 });
        expect(await ask(store, "take", api, "k")).toMatchObject({ allowed: true });
      }));

    it("allows for this call what the rule's would deny, and counts it", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", api, "k", 10);
        const allowed = await take(store, api, "k", 7, twenty);
        expect(allowed.allowed).toBe(true);
        expect(allowed.remaining).toBeCloseTo(3, DIGITS);
        expect(await ask(store, "take", api, "k")).toMatchObject({ allowed: false });
      }));

    it("does not concern other keys", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", api, "a", 10);
        expect(await ask(store, "take", api, "a")).toMatchObject({ allowed: false });
        await take(store, api, "b", 15, twenty);
        await take(store, api, "b", 1, four);
        expect(await ask(store, "take", api, "a")).toMatchObject({ allowed: false });
        expect(await remaining(store, api, "c")).toBeCloseTo(10, DIGITS);
      }));

    it("may alternate with the rule's: each call is decided by its own", () =>
      withStore(makeStore, async ({ store }) => {
        for (let i = 0; i < 10; i += 1) await ask(store, "take", api, "k");
        for (let i = 0; i < 3; i += 1) {
          expect(await ask(store, "take", api, "k")).toMatchObject({ allowed: false });
          expect(await take(store, api, "k", 1, twenty)).toMatchObject({ allowed: true });
          expect(await take(store, api, "k", 1, four)).toMatchObject({ allowed: false });
        }
        expect((await take(store, api, "k", 0, twenty)).remaining).toBeCloseTo(7, DIGITS);
      }));

    it("is that of peeks and corrections too", () =>
      withStore(makeStore, async ({ store }) => {
        await take(store, api, "k", 12, twenty);
        const [peeked] = await store.apply("peek", [{ rule: api, key: "k", cost: 8, limit: twenty }]);
        expect(peeked.allowed).toBe(true);
        const [refunded] = await store.apply("refund", [{ rule: api, key: "k", cost: 2, limit: twenty }]);
        expect(refunded.remaining).toBeCloseTo(10, DIGITS);
      }));
  });

  describe.each(subjects)("$name: rules with one counter", ({ make }) => {
    const free: Rule = { name: "free", counter: "api", limit: make(longRate(4)) };
    const paid: Rule = { name: "paid", counter: "api", limit: make(longRate(20)) };

    it("share what a key has used, each under its own limit", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", free, "k", 4);
        expect(await ask(store, "take", free, "k")).toMatchObject({ allowed: false });
        expect((await ask(store, "take", paid, "k", 6)).remaining).toBeCloseTo(10, DIGITS);
        expect(await remaining(store, paid, "other")).toBeCloseTo(20, DIGITS);
      }));
  });
}

async function take(store: Store, rule: Rule, key: string, cost: number, limit: Limit): Promise<Answer> {
  const [answer] = await store.apply("take", [{ rule, key, cost, limit }]);
  return answer;
}
