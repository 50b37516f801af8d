import { describe, expect, it } from "vitest";
import { ask, type MakeStore, operation, remaining, rule, withStore } from "./context.ts";
import { DIGITS, longRate, subjects } from "./subjects.ts";

/** What each action does to a key, and what it answers. */
export function actions(makeStore: MakeStore): void {
  describe.each(subjects)("$name: each action", ({ make }) => {
    const ten = rule("ten", make(longRate(10)));

    it("take charges what fits and refuses what does not", () =>
      withStore(makeStore, async ({ store }) => {
        expect(await ask(store, "take", ten, "k", 4)).toMatchObject({ allowed: true, retryAfter: 0 });
        const denied = await ask(store, "take", ten, "k", 7);
        expect(denied.allowed).toBe(false);
        expect(denied.remaining).toBeCloseTo(6, DIGITS);
        expect(denied.retryAfter).toBeGreaterThan(0);
        // The denied 7 took nothing: 6 still fit, and then nothing does.
        expect(await ask(store, "take", ten, "k", 6)).toMatchObject({ allowed: true });
        expect(await ask(store, "take", ten, "k", 1)).toMatchObject({ allowed: false });
        expect(await remaining(store, ten, "k")).toBeCloseTo(0, DIGITS);
      }));

    it("take of nothing changes nothing", () =>
      withStore(makeStore, async ({ store }) => {
        const answer = await ask(store, "take", ten, "k", 0);
        expect(answer).toMatchObject({ allowed: true, remaining: 10, retryAfter: 0, resetAfter: 0 });
      }));

    it("a cost beyond the limit never passes, and charges nothing", () =>
      withStore(makeStore, async ({ store }) => {
        const answer = await ask(store, "take", ten, "k", 11);
        expect(answer).toMatchObject({ allowed: false, remaining: 10, retryAfter: Number.POSITIVE_INFINITY });
        expect(answer.resetAfter).toBe(0);
        expect(await ask(store, "take", ten, "k", 10)).toMatchObject({ allowed: true });
      }));

    it("peek answers as take would, and changes nothing", () =>
      withStore(makeStore, async ({ store }) => {
        expect(await ask(store, "peek", ten, "k", 10)).toMatchObject({ allowed: true, remaining: 10, resetAfter: 0 });
        await ask(store, "take", ten, "k", 8);
        for (let i = 0; i < 5; i += 1) {
          const fits = await ask(store, "peek", ten, "k", 2);
          expect(fits.allowed).toBe(true);
          expect(fits.remaining).toBeCloseTo(2, DIGITS);
          const refused = await ask(store, "peek", ten, "k", 3);
          expect(refused.allowed).toBe(false);
          expect(refused.retryAfter).toBeGreaterThan(0);
        }
        expect(await ask(store, "take", ten, "k", 2)).toMatchObject({ allowed: true });
      }));

    it("refund returns units", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", ten, "k", 8);
        const answer = await ask(store, "refund", ten, "k", 3);
        expect(answer).toMatchObject({ allowed: true, retryAfter: 0 });
        expect(answer.remaining).toBeCloseTo(5, DIGITS);
        expect(await ask(store, "take", ten, "k", 6)).toMatchObject({ allowed: false });
        expect(await ask(store, "take", ten, "k", 5)).toMatchObject({ allowed: true });
      }));

    it("refund returns at most what was used", () =>
      withStore(makeStore, async ({ store }) => {
        expect(await ask(store, "refund", ten, "unused", 5)).toMatchObject({ remaining: 10, resetAfter: 0 });
        await ask(store, "take", ten, "k", 2);
        expect(await ask(store, "refund", ten, "k", 5)).toMatchObject({ remaining: 10, resetAfter: 0 });
        for (const key of ["unused", "k"]) {
          expect(await ask(store, "take", ten, key, 10)).toMatchObject({ allowed: true });
          expect(await ask(store, "take", ten, key, 1)).toMatchObject({ allowed: false });
        }
      }));

    it("penalize takes what is there, and what is not", () =>
      withStore(makeStore, async ({ store }) => {
        const first = await ask(store, "penalize", ten, "k", 4);
        expect(first).toMatchObject({ allowed: true, retryAfter: 0 });
        expect(first.remaining).toBeCloseTo(6, DIGITS);
        const second = await ask(store, "penalize", ten, "k", 9);
        expect(second).toMatchObject({ allowed: false, remaining: 0 });
        expect(second.retryAfter).toBeGreaterThan(0);
        // 13 are used: giving 3 back makes no room yet, one more does.
        expect((await ask(store, "refund", ten, "k", 2)).remaining).toBe(0);
        expect((await ask(store, "refund", ten, "k", 2)).remaining).toBeCloseTo(1, DIGITS);
      }));

    it("charge decides as take does, and then takes even what is not there", () =>
      withStore(makeStore, async ({ store }) => {
        const first = await ask(store, "charge", ten, "k", 4);
        expect(first).toMatchObject({ allowed: true, retryAfter: 0 });
        expect(first.remaining).toBeCloseTo(6, DIGITS);
        const second = await ask(store, "charge", ten, "k", 9);
        expect(second).toMatchObject({ allowed: false, remaining: 0 });
        expect(second.retryAfter).toBeGreaterThan(0);
        // After take, 6 would still fit. Now 13 are used: giving 3 back makes no room yet, one more does.
        expect(await ask(store, "peek", ten, "k", 1)).toMatchObject({ allowed: false });
        expect((await ask(store, "refund", ten, "k", 2)).remaining).toBe(0);
        expect((await ask(store, "refund", ten, "k", 2)).remaining).toBeCloseTo(1, DIGITS);
      }));

    it("charge of a cost beyond the limit leaves nothing", () =>
      withStore(makeStore, async ({ store }) => {
        const answer = await ask(store, "charge", ten, "k", 11);
        expect(answer).toMatchObject({ allowed: false, remaining: 0, retryAfter: Number.POSITIVE_INFINITY });
        expect(await ask(store, "take", ten, "k", 1)).toMatchObject({ allowed: false });
      }));

    it("charge of nothing changes nothing", () =>
      withStore(makeStore, async ({ store }) => {
        expect(await ask(store, "charge", ten, "k", 0)).toMatchObject({ allowed: true, remaining: 10, resetAfter: 0 });
        await ask(store, "take", ten, "k", 10);
        const nothing = await ask(store, "charge", ten, "k", 0);
        expect(nothing).toMatchObject({ allowed: true, retryAfter: 0 });
        expect(nothing.remaining).toBeCloseTo(0, DIGITS);
        await ask(store, "charge", ten, "k", 2);
        expect(await ask(store, "charge", ten, "k", 0)).toMatchObject({ allowed: false, remaining: 0 });
      }));

    it("reset forgets, whatever was used", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "penalize", ten, "k", 500);
        const answer = await ask(store, "reset", ten, "k");
        expect(answer).toMatchObject({ allowed: true, remaining: 10, retryAfter: 0, resetAfter: 0 });
        expect(await ask(store, "take", ten, "k", 10)).toMatchObject({ allowed: true });
        expect(await ask(store, "reset", ten, "never used")).toMatchObject({ allowed: true, remaining: 10 });
      }));

    it("settle replaces what was reserved: returns what was not used, and takes what exceeds it", () =>
      withStore(makeStore, async ({ store }) => {
        const { time } = await ask(store, "take", ten, "k", 6);
        const settle = (cost: number, reserved: number, until: number) =>
          store.apply("settle", [{ ...operation(ten, "k", cost), reserved: { cost: reserved, until } }]);
        expect((await settle(2, 6, time + 1_000_000_000))[0].remaining).toBeCloseTo(8, DIGITS);
        expect((await settle(2, 2, time + 1_000_000_000))[0].remaining).toBeCloseTo(8, DIGITS);
        expect(await settle(13, 2, time + 1_000_000_000)).toMatchObject([{ allowed: false, remaining: 0 }]);
        // 13 are used: 4 less than that makes room for one.
        expect((await settle(9, 13, time + 1_000_000_000))[0].remaining).toBeCloseTo(1, DIGITS);
      }));

    it("settle gives nothing back to a window that has ended, but charges what is more", () =>
      withStore(makeStore, async ({ store }) => {
        const { time } = await ask(store, "take", ten, "k", 6);
        // A second before, since the clock of a distant store is known to within a round trip.
        const until = time - 1_000_000;
        const [kept] = await store.apply("settle", [{ ...operation(ten, "k", 1), reserved: { cost: 5, until } }]);
        expect(kept.remaining).toBeCloseTo(4, DIGITS);
        const [more] = await store.apply("settle", [{ ...operation(ten, "k", 7), reserved: { cost: 5, until } }]);
        expect(more.remaining).toBeCloseTo(2, DIGITS);
      }));

    it("units taken one by one are admitted as one cost is", () =>
      withStore(makeStore, async ({ store }) => {
        const answers = [];
        for (let i = 0; i < 12; i += 1) answers.push(await ask(store, "take", ten, "k"));
        expect(answers.map(({ allowed }) => allowed)).toEqual([...Array(10).fill(true), false, false]);
      }));

    it("requests that come at the same time are admitted up to the limit and no further", () =>
      withStore(makeStore, async ({ store }) => {
        const answers = await Promise.all(Array.from({ length: 25 }, () => ask(store, "take", ten, "k")));
        expect(answers.filter(({ allowed }) => allowed)).toHaveLength(10);
      }));
  });
}
