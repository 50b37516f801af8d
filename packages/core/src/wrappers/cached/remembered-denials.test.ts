import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { operation, remaining, rule } from "../../../test/stores/conformance/context.ts";
import { cached, fixedWindow, MemoryStore } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import { RememberedDenials } from "./remembered-denials.ts";

const LIMIT = fixedWindow("1/m");

function until(time: number) {
  return { limit: LIMIT, cost: 1, until: time, fullAt: time, ahead: 0, checkedAt: 0 };
}

describe("denials", () => {
  it("are remembered until their time, and forgotten at the next lookup after it", () => {
    const denials = new RememberedDenials(10);
    denials.set("k", until(100), 0);
    expect(denials.get("k", 99)).toEqual(until(100));
    expect(denials.get("k", 100)).toBeUndefined();
    expect(denials.size).toBe(0);
  });

  it("that are renewed take no other's place", () => {
    const denials = new RememberedDenials(3);
    for (const key of ["a", "b", "c", "b", "c"]) denials.set(key, until(100), 0);
    expect(denials.size).toBe(3);
  });

  it("are at most maxKeys: the first is forgotten, and one that is renewed is not the first", () => {
    const denials = new RememberedDenials(3);
    for (const key of ["a", "b", "c", "a", "d"]) denials.set(key, until(100), 0);
    expect(["a", "b", "c", "d"].filter((key) => denials.get(key, 0) !== undefined)).toEqual(["a", "c", "d"]);
  });

  it("that are over are swept as others are added, without being looked up", () => {
    const denials = new RememberedDenials(100_000);
    for (let i = 0; i < 1_000; i += 1) denials.set(`old${i}`, until(i % 3 === 0 ? 5_000 : 1_000), 0);
    for (let i = 0; i < 1_000; i += 1) denials.set(`new${i}`, until(9_000), 2_000);
    expect(denials.size).toBe(1_334);
  });

  it("are those of a map that forgets at their time, whatever comes and goes", () => {
    const steps = fc.array(
      fc.record({
        action: fc.constantFrom("set", "get", "delete", "sweep"),
        key: fc.constantFrom(..."abcdefgh"),
        lasts: fc.integer({ min: 1, max: 50 }),
        passes: fc.integer({ min: 0, max: 10 }),
      }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(steps, (sequence) => {
        const denials = new RememberedDenials(100);
        const model = new Map<string, number>();
        let now = 0;
        for (const { action, key, lasts, passes } of sequence) {
          now += passes;
          if (action === "set") {
            denials.set(key, until(now + lasts), now);
            model.set(key, now + lasts);
          } else if (action === "delete") {
            denials.delete(key);
            model.delete(key);
          } else if (action === "sweep") {
            denials.sweep(lasts, now);
          }
          const expected = model.get(key);
          expect(denials.get(key, now)?.until).toBe(expected !== undefined && now < expected ? expected : undefined);
        }
      }),
    );
  });
});

describe("a cached store with more keys than it may remember", () => {
  it("admits the keys beyond, writes them, and shares no quota among them", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const store = new MemoryStore({ clock });
    const node = cached(store, { confirm: false, clock, maxKeys: 10 });
    const two = rule("two", fixedWindow({ limit: 2, windowMs: 10_000 }));
    for (let i = 0; i < 100; i += 1) {
      expect(node.apply("take", [operation(two, `k${i}`)])).toMatchObject([{ allowed: true, remaining: 1 }]);
    }
    await clock.advance(20);
    expect(await remaining(store, two, "k99")).toBe(1);
    // The limit of those whose use is not remembered holds all the same, a flush later.
    for (let i = 0; i < 100; i += 1) node.apply("take", [operation(two, `k${i}`)]);
    expect(node.apply("take", [operation(two, "k99")])).toMatchObject([{ allowed: true }]);
    await clock.advance(20);
    expect(node.apply("take", [operation(two, "k99")])).toMatchObject([{ allowed: false }]);
    expect(node.stats.limitedKeys).toBeLessThanOrEqual(10);
  });

  it("reports a cost that can never fit, also for the keys beyond", () => {
    const clock = new ManualClock(1_700_000_000_000);
    const node = cached(new MemoryStore({ clock }), { confirm: false, clock, maxKeys: 1 });
    const two = rule("two", fixedWindow({ limit: 2, windowMs: 10_000 }));
    node.apply("take", [operation(two, "first")]);
    expect(node.apply("take", [operation(two, "second", 3)])).toMatchObject([
      { allowed: false, remaining: 2, retryAfter: Number.POSITIVE_INFINITY },
    ]);
  });
});
