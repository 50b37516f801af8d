import { describe, expect, it } from "vitest";
import { fixedWindow, gcra, slidingWindow, slidingWindowLog } from "../../algorithms/registry.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { HeadgateError } from "../../errors.ts";
import { ManualClock } from "../../testing/index.ts";
import { MemoryStore } from "./memory-store.ts";

describe("a memory store", () => {
  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "10"])("refuses %j for maxKeys", (maxKeys) => {
    const make = (): MemoryStore => new MemoryStore({ maxKeys: maxKeys as number });
    expect(make).toThrow(HeadgateError);
    expect(make).toThrow(expect.objectContaining({ code: "HG_BAD_OPTION", field: "maxKeys" }));
  });

  it("goes by the system's clock unless given another", () => {
    const clock = new ManualClock();
    expect(new MemoryStore().clock).toBeInstanceOf(SystemClock);
    expect(new MemoryStore({ clock }).clock).toBe(clock);
  });

  it("answers at once, without a promise", () => {
    const store = new MemoryStore({ clock: new ManualClock(7) });
    const answers = store.apply("take", [{ rule: { name: "api", limit: gcra("5/m") }, key: "k", cost: 2 }]);
    const [time, resetAfter] = [7_000, 24_000_000];
    expect(answers).toEqual([
      { time, allowed: true, remaining: 3, retryAfter: 0, resetAfter, source: "store", degraded: false },
    ]);
  });

  it("answers a request without operations with nothing", () => {
    expect(new MemoryStore().apply("take", [])).toEqual([]);
  });

  it("counts the keys of each rule apart, whatever the rules are called", () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const limit = gcra("5/m");
    const keys = { api: 3, __proto__x: 1, constructor: 2 };
    for (const [name, count] of [...Object.entries(keys), ["__proto__", 4] as const]) {
      for (let i = 0; i < count; i += 1) store.apply("take", [{ rule: { name, limit }, key: `${i}`, cost: 1 }]);
    }
    const counted = Object.entries(store.stats).map(([name, stats]) => [name, stats.keys]);
    expect(counted).toEqual([...Object.entries(keys), ["__proto__", 4]]);
  });

  it("holds no key that was only asked about or refused", () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const rule = { name: "api", limit: slidingWindowLog("5/m") };
    for (const action of ["peek", "refund", "reset"] as const) store.apply(action, [{ rule, key: action, cost: 1 }]);
    store.apply("take", [{ rule, key: "too much", cost: 6 }]);
    store.apply("take", [{ rule, key: "nothing", cost: 0 }]);
    store.apply("penalize", [{ rule, key: "no penalty", cost: 0 }]);
    expect(store.stats).toEqual({ api: { keys: 0, overflowed: 0 } });
  });

  it("gives strangers nothing that another stranger could find", () => {
    const clock = new ManualClock(3_600_000);
    const store = new MemoryStore({ clock });
    for (const limit of [gcra("5/m"), slidingWindow("5/m"), fixedWindow("5/m"), slidingWindowLog("5/m")]) {
      const rule = { name: limit.algorithm, limit };
      const [fresh] = new MemoryStore({ clock: new ManualClock() }).apply("take", [{ rule, key: "b", cost: 1 }]);
      clock.set(3_600_000);
      for (const action of ["refund", "reset", "peek"] as const) store.apply(action, [{ rule, key: "a", cost: 3 }]);
      // Had any of them left its time behind, an earlier request would be held against it.
      clock.set(0);
      expect(store.apply("take", [{ rule, key: "b", cost: 1 }])).toEqual([fresh]);
    }
  });

  it("holds a key no longer once it is reset", () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const rule = { name: "api", limit: gcra("5/m") };
    for (let i = 0; i < 200; i += 1) store.apply("take", [{ rule, key: `${i}`, cost: 1 }]);
    for (let i = 0; i < 200; i += 2) store.apply("reset", [{ rule, key: `${i}`, cost: 1 }]);
    expect(store.stats).toMatchObject({ api: { keys: 100 } });
  });
});
