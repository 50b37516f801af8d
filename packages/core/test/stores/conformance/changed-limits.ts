import { describe, expect, it } from "vitest";
import { gcra, slidingWindowLog } from "../../../src/index.ts";
import { ask, type MakeStore, remaining, rule, withStore } from "./context.ts";
import { DIGITS, longRate, subjects } from "./subjects.ts";

/** A rule whose limit changes while it is in use: the new one counts at once, and what was used stays used. */
export function changedLimits(makeStore: MakeStore): void {
  describe.each(subjects)("$name: a limit that changes", ({ make }) => {
    const four = rule("api", make(longRate(4)));
    const ten = rule("api", make(longRate(10)));
    const twenty = rule("api", make(longRate(20)));

    it("to a lower one denies from the next request on", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", ten, "k", 6);
        const denied = await ask(store, "take", four, "k");
        expect(denied).toMatchObject({ allowed: false, remaining: 0 });
        expect(denied.retryAfter).toBeGreaterThan(0);
        expect(denied.retryAfter).toBeLessThan(Number.POSITIVE_INFINITY);
      }));

    it("to a higher one has room from the next request on, less what was used", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", ten, "k", 10);
        expect(await ask(store, "take", ten, "k")).toMatchObject({ allowed: false });
        const allowed = await ask(store, "take", twenty, "k", 7);
        expect(allowed.allowed).toBe(true);
        expect(allowed.remaining).toBeCloseTo(3, DIGITS);
      }));

    it("and changes back finds what was used", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", ten, "k", 6);
        await ask(store, "take", four, "k");
        expect(await remaining(store, ten, "k")).toBeCloseTo(4, DIGITS);
        await ask(store, "take", twenty, "k", 14);
        expect(await remaining(store, ten, "k")).toBe(0);
        expect(await remaining(store, twenty, "k")).toBeCloseTo(0, DIGITS);
      }));

    it("to another with the same parameters has no effect", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", ten, "k", 6);
        expect(await remaining(store, rule("api", make(longRate(10))), "k")).toBeCloseTo(4, DIGITS);
      }));
  });

  it("a rule whose algorithm changes starts from zero", () =>
    withStore(makeStore, async ({ store }) => {
      await ask(store, "take", rule("api", gcra(longRate(10))), "k", 10);
      const log = rule("api", slidingWindowLog(longRate(10)));
      expect(await ask(store, "take", log, "k", 10)).toMatchObject({ allowed: true });
      expect(await ask(store, "take", log, "k")).toMatchObject({ allowed: false });
    }));
}
