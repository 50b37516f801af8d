import { describe, expect, it } from "vitest";
import { type Action, type ApplyOptions, gcra, type Store, StoreError, slidingWindowLog } from "../../../src/index.ts";
import { ask, type MakeStore, operation, remaining, rule, withStore } from "./context.ts";
import { DIGITS, longRate } from "./subjects.ts";

const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;

/** A request that reaches the store after its deadline charges nothing, because no caller waits for the answer. */
export function voidRequests(makeStore: MakeStore): void {
  describe("a request that is void from a time on", () => {
    const ten = rule("ten", gcra(longRate(10)));
    const log = rule("log", slidingWindowLog(longRate(10)));

    it.each(["take", "takeFirst", "charge", "penalize", "refund", "reset"] as const)(
      "does no %s after that",
      (action) =>
        withStore(makeStore, async ({ store }) => {
          await ask(store, "take", ten, "k", 5);
          await isVoid(store, action, { voidFrom: timeOf(store) - SECOND });
          for (const each of [ten, log]) {
            expect(await remaining(store, each, "k")).toBeCloseTo(each === ten ? 5 : 10, DIGITS);
          }
        }),
    );

    it("is done as any other before that", () =>
      withStore(makeStore, async ({ store }) => {
        const voidFrom = timeOf(store) + MINUTE;
        const answer = await ask(store, "take", ten, "k", 4, { voidFrom });
        expect(answer).toMatchObject({ allowed: true, source: "store", degraded: false });
        expect(await ask(store, "take", ten, "k", 7, { voidFrom })).toMatchObject({ allowed: false });
        expect(await remaining(store, ten, "k")).toBeCloseTo(6, DIGITS);
      }));

    it("is not remembered when it was void, and can still be done under its idempotency key", () =>
      withStore(makeStore, async ({ store }) => {
        const now = timeOf(store);
        await isVoid(store, "take", { voidFrom: now - SECOND, idempotencyKey: "once" });
        for (let i = 0; i < 2; i += 1) {
          await ask(store, "take", ten, "k", 3, { voidFrom: now + MINUTE, idempotencyKey: "once" });
        }
        expect(await remaining(store, ten, "k")).toBeCloseTo(7, DIGITS);
      }));

    it("is void at that very microsecond, and not one earlier", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        const voidFrom = clock.now() + SECOND;
        await clock.advance(1_000 - 0.001);
        expect(await ask(store, "take", ten, "k", 1, { voidFrom })).toMatchObject({ allowed: true });
        await clock.advance(0.001);
        await isVoid(store, "take", { voidFrom });
        expect(await remaining(store, ten, "k")).toBeCloseTo(9, DIGITS);
      }));

    async function isVoid(store: Store, action: Action, options: ApplyOptions): Promise<void> {
      const operations = [operation(ten, "k", 2), operation(log, "k", 2)];
      const failure = await (async () => store.apply(action, operations, options))().catch((reason: unknown) => reason);
      expect(failure).toBeInstanceOf(StoreError);
      expect(failure).toMatchObject({ code: "HG_STORE_TIMEOUT", field: "store" });
    }
  });
}

function timeOf({ clock }: Store): number {
  if (clock === undefined) throw new Error("this store does not tell its time");
  return clock.now();
}
