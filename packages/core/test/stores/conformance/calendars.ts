import { describe, expect, it } from "vitest";
import { fixedWindow } from "../../../src/index.ts";
import { calendarOf } from "../../../src/limits/calendar.ts";
import { ask, type MakeStore, operation, remaining, rule, withStore } from "./context.ts";

const ZONE = "Europe/Berlin";
const month = calendarOf("month", ZONE);

/** Windows that follow the calendar, in the zone of the limit and by the clock of the store. */
export function calendars(makeStore: MakeStore): void {
  describe("fixed_window by the calendar", () => {
    const quota = rule("quota", fixedWindow("10/month", { timeZone: ZONE }));

    it("counts until the end of the month, by the store's clock", () =>
      withStore(makeStore, async ({ store }) => {
        const taken = await ask(store, "take", quota, "k", 4);
        expect(taken).toMatchObject({ allowed: true, remaining: 6 });
        expect(taken.time + taken.resetAfter).toBe(month.windowAt(taken.time).end);
        const denied = await ask(store, "take", quota, "k", 7);
        expect(denied).toMatchObject({ allowed: false, remaining: 6 });
        expect(denied.time + denied.retryAfter).toBe(month.windowAt(denied.time).end);
        expect((await ask(store, "take", quota, "k", 11)).retryAfter).toBe(Number.POSITIVE_INFINITY);
      }));

    it("can be peeked, refunded, penalized and reset", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", quota, "k", 8);
        expect(await ask(store, "peek", quota, "k", 3)).toMatchObject({ allowed: false, remaining: 2 });
        expect(await ask(store, "refund", quota, "k", 5)).toMatchObject({ remaining: 7 });
        expect(await ask(store, "penalize", quota, "k", 9)).toMatchObject({ allowed: false, remaining: 0 });
        expect(await ask(store, "reset", quota, "k")).toMatchObject({ allowed: true, remaining: 10 });
        expect(await remaining(store, quota, "k")).toBe(10);
      }));

    it("is charged together with other limits, or not at all", () =>
      withStore(makeStore, async ({ store }) => {
        const minute = rule("minute", fixedWindow("3/m"));
        const year = rule("year", fixedWindow("5/year", { timeZone: "America/Sao_Paulo" }));
        const both = [operation(quota, "k", 2), operation(minute, "k", 2), operation(year, "k", 2)];
        expect((await store.apply("take", both)).map(({ allowed }) => allowed)).toEqual([true, true, true]);
        const [first, second, third] = await store.apply("take", both);
        expect([first.allowed, second.allowed, third.allowed]).toEqual([true, false, true]);
        expect(await remaining(store, quota, "k")).toBe(8);
        expect(await remaining(store, year, "k")).toBe(3);
      }));

    it("is charged once under an idempotency key", () =>
      withStore(makeStore, async ({ store }) => {
        const once = { idempotencyKey: "once" };
        const first = await ask(store, "take", quota, "k", 4, once);
        expect(await ask(store, "take", quota, "k", 4, once)).toEqual(first);
        expect(await remaining(store, quota, "k")).toBe(6);
      }));

    it("counts another calendar of the same rule separately", () =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", quota, "k", 10);
        for (const other of [
          fixedWindow("10/month", { timeZone: "Asia/Tokyo" }),
          fixedWindow("10/month", { timeZone: ZONE, anchorDay: 31 }),
          fixedWindow("10/year", { timeZone: ZONE }),
          fixedWindow("10/d"),
        ]) {
          expect(await ask(store, "peek", { name: "quota", counter: "quota", limit: other }, "k", 10)).toMatchObject({
            allowed: true,
          });
        }
      }));

    it("starts again when the local month does, not before", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        for (let i = 0; i < 4; i += 1) {
          const { end } = month.windowAt(clock.now());
          expect(await ask(store, "take", quota, "k", 10)).toMatchObject({ allowed: true, remaining: 0 });
          await clock.advance((end - 1 - clock.now()) / 1000);
          expect(await ask(store, "take", quota, "k")).toMatchObject({ allowed: false, retryAfter: 1 });
          // What was taken before is not given back after.
          await clock.advance(0.001);
          expect(await ask(store, "refund", quota, "k", 10)).toMatchObject({ remaining: 10 });
        }
      }));
  });
}
