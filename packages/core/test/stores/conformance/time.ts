import { describe, expect, it } from "vitest";
import { type Action, fixedWindow, type Store } from "../../../src/index.ts";
import { ask, type MakeStore, operation, rule, type StoreClock, withStore } from "./context.ts";
import { subjects, TEN_EACH_TEN_SECONDS } from "./subjects.ts";

const WINDOW = 10_000_000;
const MINUTE = 60_000_000;

/** What the answers say about time, to the microsecond: for stores whose clock a test can move. */
export function timing(makeStore: MakeStore): void {
  describe.each(subjects)("$name: time", ({ make, resetAfterFour, retryAfterSeven, retryAfterTwelve }) => {
    const ten = rule("ten", make(TEN_EACH_TEN_SECONDS));

    it("gives the time when the same request passes: it does then, and not a microsecond earlier", (test) =>
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

    it("gives the time when the quota is full again: it is full then, and not a microsecond earlier", (test) =>
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
        const fast = rule("fast", make({ limit: 500, windowMs: 1_000 }));
        let admitted = 0;
        for (let i = 0; i < 525; i += 1) {
          if ((await ask(store, "take", fast, "k")).allowed) admitted += 1;
        }
        expect(admitted).toBe(500);
      }));
  });

  describe("the time of a decision", () => {
    const actions: readonly Action[] = ["take", "takeFirst", "charge", "peek", "penalize", "refund", "reset"];
    const minute = rule("minute", fixedWindow("10/m"));

    it.each(actions)("is the store's clock, for %s", (action) =>
      withStore(makeStore, async ({ store, clock }) => {
        const from = clock?.now() ?? earliest(store);
        const { time } = await ask(store, action, minute, "k");
        expect(Number.isSafeInteger(time)).toBe(true);
        expect(time).toBeGreaterThanOrEqual(from);
        expect(time).toBeLessThanOrEqual(clock?.now() ?? latest(store));
      }),
    );

    it.each([1, 20])("is returned for a denied request of cost %i", (cost) =>
      withStore(makeStore, async ({ store, clock }) => {
        await ask(store, "take", minute, "k", 10);
        const from = clock?.now() ?? earliest(store);
        const denied = await ask(store, "take", minute, "k", cost);
        expect(denied.allowed).toBe(false);
        expect(denied.time).toBeGreaterThanOrEqual(from);
        expect(denied.time).toBeLessThanOrEqual(clock?.now() ?? latest(store));
      }),
    );

    it("is one for all operations of a request", () =>
      withStore(makeStore, async ({ store }) => {
        const rules = subjects.map(({ name, make }) => rule(name, make(TEN_EACH_TEN_SECONDS)));
        const answers = await store.apply(
          "take",
          rules.map((each) => operation(each, "k")),
        );
        const [{ time }] = answers;
        expect(Number.isSafeInteger(time)).toBe(true);
        for (const answer of answers) expect(answer.time).toBe(time);
      }));

    it("and the reset together are the end of a clock-aligned window, whenever in it a request comes", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        await toWindowStart(clock);
        await ask(store, "take", minute, "k", 10);
        const end = (Math.floor(clock.now() / MINUTE) + 1) * MINUTE;
        for (let i = 0; i < 5; i += 1) {
          await clock.advance(123.457);
          const { time, resetAfter } = await ask(store, "take", minute, "k");
          expect(time + resetAfter).toBe(end);
        }
      }));

    it("is that of the first request when it is repeated under an idempotency key", (test) =>
      withStore(makeStore, async ({ store, clock }) => {
        if (clock === undefined) return test.skip("this store's clock cannot be moved");
        const once = { idempotencyKey: "once" };
        const time = clock.now();
        const [first, denied] = [
          await ask(store, "take", minute, "k", 7, once),
          await ask(store, "take", minute, "k", 7, { idempotencyKey: "denied" }),
        ];
        expect([first.time, denied.time]).toEqual([time, time]);
        await clock.advance(7_654.321);
        expect(await ask(store, "take", minute, "k", 7, once)).toEqual(first);
        expect(await ask(store, "take", minute, "k", 7, { idempotencyKey: "denied" })).toEqual(denied);
        expect((await ask(store, "take", minute, "k")).time).toBe(clock.now());
      }));
  });
}

/**
 * What a server's clock shows, as far as it is known here: a store may know the time of its server only roughly, and
 * tells the latest that it could be.
 */
const ROUGHLY = 5_000_000;

function earliest({ clock }: Store): number {
  return (clock?.now() ?? Date.now() * 1000) - ROUGHLY;
}

function latest({ clock }: Store): number {
  return (clock?.now() ?? Date.now() * 1000) + ROUGHLY;
}

async function toWindowStart(clock: StoreClock): Promise<void> {
  await clock.advance((WINDOW - (clock.now() % WINDOW)) / 1000);
}
