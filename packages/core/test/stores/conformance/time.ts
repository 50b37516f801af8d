import { describe, expect, it } from "vitest";
import { ask, type MakeStore, rule, type StoreClock, withStore } from "./context.ts";
import { subjects, TEN_EACH_TEN_SECONDS } from "./subjects.ts";

const WINDOW = 10_000_000;

/** What the answers say about time, to the microsecond: for stores whose clock a test can move. */
export function timing(makeStore: MakeStore): void {
  describe.each(subjects)("$name: time", ({ make, resetAfterFour, retryAfterSeven, retryAfterTwelve }) => {
    const ten = rule("ten", make(TEN_EACH_TEN_SECONDS));

    it("tells when the same request passes: then it does, and a microsecond earlier it does not", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        await toWindowStart(clock);
        expect(await ask(store, "take", ten, "k", 4)).toMatchObject({ remaining: 6, resetAfter: resetAfterFour });
        const denied = await ask(store, "take", ten, "k", 7);
        expect(denied).toMatchObject({ allowed: false, remaining: 6, retryAfter: retryAfterSeven });
        await clock.advance((retryAfterSeven - 1) / 1000);
        expect(await ask(store, "take", ten, "k", 7)).toMatchObject({ allowed: false, retryAfter: 1 });
        await clock.advance(0.001);
        expect(await ask(store, "take", ten, "k", 7)).toMatchObject({ allowed: true, retryAfter: 0 });
      }));

    it("tells when the quota is full again: then it is, and a microsecond earlier it is not", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        await toWindowStart(clock);
        await ask(store, "take", ten, "k", 4);
        await clock.advance((resetAfterFour - 1) / 1000);
        expect(await ask(store, "peek", ten, "k", 0)).toMatchObject({ resetAfter: 1 });
        await clock.advance(0.001);
        expect(await ask(store, "peek", ten, "k", 10)).toMatchObject({ allowed: true, remaining: 10, resetAfter: 0 });
      }));

    it("makes a penalty wait as long as it is large", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        await toWindowStart(clock);
        const answer = await ask(store, "penalize", ten, "k", 12);
        expect(answer).toMatchObject({ allowed: false, remaining: 0, retryAfter: retryAfterTwelve });
        await clock.advance((retryAfterTwelve - 1) / 1000);
        expect(await ask(store, "take", ten, "k")).toMatchObject({ allowed: false, retryAfter: 1 });
        await clock.advance(0.001);
        expect(await ask(store, "take", ten, "k")).toMatchObject({ allowed: true });
      }));

    it("is full, and not more, after a long idle time", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        await ask(store, "penalize", ten, "k", 30);
        await clock.advance(12 * 3_600_000);
        const answer = await ask(store, "take", ten, "k", 10);
        expect(answer).toMatchObject({ allowed: true, remaining: 0 });
        expect(await ask(store, "take", ten, "k")).toMatchObject({ allowed: false });
      }));

    it("counts every request of one tick", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        const fast = rule("fast", make({ limit: 2_000, windowMs: 1_000 }));
        let admitted = 0;
        for (let i = 0; i < 2_100; i += 1) {
          if ((await ask(store, "take", fast, "k")).allowed) admitted += 1;
        }
        expect(admitted).toBe(2_000);
      }));
  });
}

async function toWindowStart(clock: StoreClock): Promise<void> {
  await clock.advance((WINDOW - (clock.now() % WINDOW)) / 1000);
}
