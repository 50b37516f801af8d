import { describe, expect, it } from "vitest";
import { gcra } from "../../algorithms/registry.ts";
import { ManualClock } from "../../testing/index.ts";
import type { Answer } from "../store.ts";
import { MemoryStore } from "./memory-store.ts";

const rule = { name: "api", limit: gcra("1000000/d") };
const FIVE_MINUTES_MS = 300_000;

describe("the requests that a memory store remembers", () => {
  it.each([0, -1, 1.5, Number.NaN, "10"])("are not bounded by %j", (bad) => {
    const problem = expect.objectContaining({ code: "HG_BAD_OPTION", field: "maxIdempotencyKeys" });
    expect(() => new MemoryStore({ maxIdempotencyKeys: bad as number })).toThrow(problem);
  });

  it("are the last ones when there is no room for more; those forgotten early are counted", () => {
    const { store, take } = bounded(10);
    for (let i = 0; i < 25; i += 1) take(`${i}`);
    expect(store.idempotency).toEqual({ remembered: 10, forgotten: 15 });
    const left = take("24").remaining;
    for (let i = 15; i < 25; i += 1) take(`${i}`);
    expect(take("24").remaining).toBe(left);
    expect(store.idempotency.forgotten).toBe(15);
    // One that was forgotten is a new request, and the oldest goes for it.
    expect(take("0").remaining).toBe(left - 1);
    expect(store.idempotency).toEqual({ remembered: 10, forgotten: 16 });
    expect(take("15").remaining).toBe(left - 2);
  });

  it("may be one alone", () => {
    const { store, take } = bounded(1);
    for (const key of ["a", "b", "b", "c", "c", "d"]) take(key);
    expect(store.idempotency).toEqual({ remembered: 1, forgotten: 3 });
    expect(take("d").remaining).toBe(take("d").remaining);
  });

  it("are not counted as forgotten early when their time is over", () => {
    const { store, clock, take } = bounded(10);
    for (let i = 0; i < 10; i += 1) take(`old ${i}`);
    clock.set(FIVE_MINUTES_MS);
    for (let i = 0; i < 10; i += 1) take(`new ${i}`);
    expect(store.idempotency).toEqual({ remembered: 10, forgotten: 0 });
  });

  it("are let go as others come, a few at a time, when their time is over", () => {
    const { store, clock, take } = bounded(10_000);
    for (let i = 0; i < 1_000; i += 1) take(`old ${i}`);
    clock.set(FIVE_MINUTES_MS);
    take("new");
    expect(store.idempotency.remembered).toBeGreaterThan(900);
    for (let i = 0; i < 400; i += 1) take(`new ${i}`);
    expect(store.idempotency).toEqual({ remembered: 401, forgotten: 0 });
  });

  it("are remembered again under a name that has expired, even before the old record is removed", () => {
    const { store, clock, take } = bounded(10_000);
    for (let i = 0; i < 100; i += 1) take(`${i}`);
    clock.set(FIVE_MINUTES_MS);
    const again = take("99");
    for (let i = 0; i < 100; i += 1) take(`new ${i}`);
    expect(take("99")).toEqual(again);
    expect(store.idempotency).toEqual({ remembered: 101, forgotten: 0 });
  });

  it("are remembered five minutes and more when the clock is put back, and never without end", () => {
    const { store, clock, take } = bounded(10);
    clock.set(3_600_000);
    const ahead = take("ahead");
    clock.set(0);
    expect(take("ahead")).toEqual(ahead);
    const first = take("k");
    clock.set(FIVE_MINUTES_MS - 1);
    expect(take("k")).toEqual(first);
    clock.set(FIVE_MINUTES_MS);
    expect(take("k").remaining).toBeLessThan(first.remaining);
    for (let i = 0; i < 100; i += 1) take(`${i}`);
    expect(store.idempotency.remembered).toBe(10);
  });

  it("are none of those without an idempotency key", () => {
    const { store } = bounded(10);
    store.apply("take", [{ rule, key: "k", cost: 1 }]);
    store.apply("take", [{ rule, key: "k", cost: 1 }], { voidFrom: 1 });
    expect(store.idempotency).toEqual({ remembered: 0, forgotten: 0 });
  });

  it("may be without operations", () => {
    const { store } = bounded(10);
    expect(store.apply("take", [], { idempotencyKey: "none" })).toEqual([]);
  });
});

function bounded(maxIdempotencyKeys: number) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock, maxIdempotencyKeys });
  const take = (idempotencyKey: string): Answer =>
    store.apply("take", [{ rule, key: "k", cost: 1 }], { idempotencyKey })[0];
  return { store, clock, take };
}
