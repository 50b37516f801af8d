import * as theirs from "express-rate-limit";
import { describe, expect, expectTypeOf, it } from "vitest";
import * as ours from "../../../../src/middleware/express-rate-limit.ts";
import { ManualClock } from "../../../../src/testing/index.ts";
import { dateClock, observe, ok, silent, statuses } from "./observe.ts";

/** What can be called on a memory store of either package. */
type Calls = Required<Omit<theirs.Store, "prefix" | "localKeys" | "init">> & {
  init(options: { readonly windowMs: number }): void;
};

const stores: readonly [string, () => Calls][] = [
  ["express-rate-limit", () => new theirs.MemoryStore() as Calls],
  ["headgate/express-rate-limit", () => new ours.MemoryStore()],
];

describe.each(stores)("the MemoryStore of %s", (_name, make) => {
  function ready(): Calls {
    const store = make();
    store.init({ windowMs: 60_000 });
    return store;
  }

  it("counts the hits of each key", async () => {
    const store = ready();
    await store.increment("ann");
    expect(await store.increment("ann")).toMatchObject({ totalHits: 2, resetTime: expect.any(Date) });
    expect(await store.increment("bob")).toMatchObject({ totalHits: 1 });
    expect(await store.get("ann")).toMatchObject({ totalHits: 2, resetTime: expect.any(Date) });
    expect(await store.get("nobody")).toBeUndefined();
    store.shutdown();
  });

  it("takes hits back, but none that were not counted", async () => {
    const store = ready();
    await store.increment("ann");
    await store.decrement("ann");
    await store.decrement("ann");
    expect(await store.increment("ann")).toMatchObject({ totalHits: 1 });
    store.shutdown();
  });

  it("forgets one key, and all keys", async () => {
    const store = ready();
    for (const key of ["ann", "ann", "bob", "bob"]) await store.increment(key);
    await store.resetKey("ann");
    expect([await store.get("ann"), (await store.get("bob"))?.totalHits]).toEqual([undefined, 2]);
    await store.resetAll();
    expect(await store.get("bob")).toBeUndefined();
    expect(await store.increment("bob")).toMatchObject({ totalHits: 1 });
    await store.shutdown();
    expect(await store.get("bob")).toBeUndefined();
  });
});

describe("a MemoryStore", () => {
  it("counts in windows of the given length, or of a minute", async () => {
    const clock = new ManualClock(0);
    const store = new ours.MemoryStore({ clock });
    await store.increment("ann");
    await clock.advance(59_999);
    expect((await store.get("ann"))?.totalHits).toBe(1);
    await clock.advance(1);
    expect(await store.get("ann")).toBeUndefined();
    store.init({ windowMs: 50 });
    await store.increment("ann");
    await clock.advance(50);
    expect(await store.get("ann")).toBeUndefined();
  });

  it("holds what its middleware has counted", async () => {
    const store = new ours.MemoryStore({ clock: dateClock });
    const seen = await observe(async ({ app, get, note }) => {
      app.use(ours.rateLimit({ store, limit: 1, name: "login", keyGenerator: () => "ann", logger: silent }), ok);
      await get();
      await get();
      note((await store.get("ann"))?.totalHits);
      await store.resetAll();
      await get();
      await store.resetKey("ann");
      await get();
    });
    expect(statuses(seen)).toEqual([200, 429, 200, 200]);
    expect(seen[2]).toBe(1);
  });

  it("counts as a subclass says", async () => {
    class Half extends ours.MemoryStore {
      override async increment(key: string): Promise<ours.ClientRateLimitInfo> {
        const { totalHits, resetTime } = await super.increment(key);
        return { totalHits: Math.ceil(totalHits / 2), resetTime };
      }
    }
    const seen = await observe(async ({ app, get }) => {
      app.use(ours.rateLimit({ store: new Half({ clock: dateClock }), limit: 1, logger: silent }), ok);
      for (let i = 0; i < 3; i += 1) await get();
    });
    expect(statuses(seen)).toEqual([200, 200, 429]);
  });

  it("fits where express-rate-limit wants a store", () => {
    expectTypeOf<ours.MemoryStore>().toExtend<theirs.Store>();
  });
});
