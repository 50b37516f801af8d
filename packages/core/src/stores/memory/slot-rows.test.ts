import { describe, expect, it } from "vitest";
import { type Answer, concurrency, type Operation } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import { MemoryStore } from "./memory-store.ts";

const SECOND = 1_000_000;
const rule = { name: "tasks", limit: concurrency(2) };

function slot(key: string, id: string, forUs = 10 * SECOND): Operation {
  return { rule, key, cost: 1, slot: { id, forUs } };
}

function make(maxKeys = 1_000): { store: MemoryStore; clock: ManualClock; take: (key: string, id: string) => Answer } {
  const clock = new ManualClock(1_700_000_000_000);
  const store = new MemoryStore({ clock, maxKeys });
  return { store, clock, take: (key, id) => store.apply("take", [slot(key, id)])[0] };
}

describe("keys with slots", () => {
  it("disappear some time after their last lease has ended, as requests come", async () => {
    const { store, clock, take } = make(100_000);
    for (let i = 0; i < 5_000; i += 1) take(`key ${i}`, "a");
    expect(store.stats).toEqual({ tasks: { keys: 5_000, overflowed: 0 } });
    await clock.advance(14_999);
    for (let i = 0; i < 5_000; i += 1) take("busy", "a");
    expect(store.stats["tasks"].keys).toBe(5_001);
    await clock.advance(2);
    for (let i = 0; i < 5_000; i += 1) take("busy", "a");
    expect(store.stats["tasks"].keys).toBe(1);
  });

  it("share their slots if there is no room for them, and none of them forgets what it holds", async () => {
    const { store, clock, take } = make(3);
    for (const key of ["a", "b", "c"]) for (const id of ["1", "2"]) expect(take(key, id).allowed).toBe(true);
    // The same reservation holds slots of two keys.
    expect(take("d", "1")).toMatchObject({ allowed: true, inUse: 1 });
    expect(take("e", "1")).toMatchObject({ allowed: true, inUse: 2 });
    expect(take("f", "1")).toMatchObject({ allowed: false, inUse: 2 });
    for (const key of ["a", "b", "c"]) expect(take(key, "3")).toMatchObject({ allowed: false, inUse: 2 });
    expect(store.stats).toEqual({ tasks: { keys: 3, overflowed: 3 } });
    expect(store.apply("release", [slot("d", "1")])[0]).toMatchObject({ inUse: 1 });
    expect(take("f", "1")).toMatchObject({ allowed: true, inUse: 2 });
    await clock.advance(9_000);
    expect(store.apply("extend", [slot("e", "1")])[0]).toMatchObject({ allowed: true, inUse: 2 });
    await clock.advance(9_000);
    // There is room again, but e is still in the shared row, where f may be too.
    expect(take("e", "2")).toMatchObject({ allowed: true, inUse: 2 });
    expect(take("e", "3")).toMatchObject({ allowed: false, inUse: 2 });
    await clock.advance(20_000);
    for (const key of ["e", "f"]) expect(take(key, "9")).toMatchObject({ allowed: true, inUse: 1 });
  });

  it("cannot have their slots twice because the clock is set back after they were removed", async () => {
    const { clock, take } = make(100_000);
    const early = clock.now() / 1000;
    for (const id of ["1", "2"]) expect(take("k", id).allowed).toBe(true);
    clock.set(early + 60_000);
    for (let i = 0; i < 10; i += 1) take(`other ${i}`, "1");
    clock.set(early);
    expect(take("k", "3")).toMatchObject({ allowed: true, inUse: 1 });
    expect(take("k", "4")).toMatchObject({ allowed: true, inUse: 2 });
    // Their leases count from when the first ones had ended.
    const denied = take("k", "5");
    expect(denied).toMatchObject({ allowed: false, retryAfter: 20 * SECOND });
  });

  it("are free when all keys are reset, and stay in use when the limit of the rule changes", () => {
    const { store, take } = make();
    for (const id of ["1", "2"]) take("k", id);
    store.resetAll();
    expect(take("k", "3")).toMatchObject({ allowed: true, inUse: 1 });
    store.open(rule);
    store.setLimit({ name: "tasks", limit: concurrency(1) });
    expect(store.apply("take", [{ ...slot("k", "4"), limit: concurrency(1) }])[0]).toMatchObject({ allowed: false });
  });
});
