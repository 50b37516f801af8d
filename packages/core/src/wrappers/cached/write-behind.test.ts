import { describe, expect, it } from "vitest";
import { ask, operation, remaining, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore } from "../../../test/wrappers/cached/distant-store.ts";
import { cached, fixedWindow, gcra, type Limit, slidingWindow, slidingWindowLog } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const START_MS = 1_700_000_000_000;
const rate = { limit: 100, windowMs: 10_000 };
const hundred = rule("hundred", fixedWindow(rate));

function setUp({ roundTripMs = 2, flushMs = 10, maxPending = 1_000 } = {}) {
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, roundTripMs);
  return { clock, store, node: cached(store, { confirm: false, clock, flushMs, maxPending }) };
}

describe("what a cached store admits", () => {
  it("is written in one go after flushMs: one call for each key, with the sum of its costs", async () => {
    const { clock, store, node } = setUp();
    for (const key of ["a", "b", "a"]) node.apply("take", [operation(hundred, key, 2)]);
    await clock.advance(9.999);
    expect(store.calls).toEqual([]);
    await clock.advance(0.001);
    expect(store.calls.map(({ at }) => at)).toEqual([START_MS + 10, START_MS + 10]);
    expect(store.said()).toEqual(["penalize a 4", "penalize b 2"]);
    await clock.advance(100);
    expect(store.said()).toEqual([]);
    expect(await remaining(store.memory, hundred, "a")).toBe(96);
  });

  it("is written while the write before is still under way: nothing waits longer than flushMs", async () => {
    const { clock, store, node } = setUp({ roundTripMs: 100 });
    for (let i = 0; i < 3; i += 1) {
      node.apply("take", [operation(hundred, "k")]);
      await clock.advance(10);
    }
    expect(store.calls.map(({ at }) => at - START_MS)).toEqual([10, 20, 30]);
  });

  it("is written at once when maxPending keys wait", () => {
    const { store, node } = setUp({ maxPending: 3 });
    for (const key of ["a", "b", "a", "b"]) node.apply("take", [operation(hundred, key)]);
    expect(store.said()).toEqual([]);
    node.apply("take", [operation(hundred, "c")]);
    expect(store.said()).toEqual(["penalize a 2", "penalize b 2", "penalize c 1"]);
  });

  it("is written with the rule as it is by then", async () => {
    const { clock, store, node } = setUp();
    node.apply("take", [operation(hundred, "k", 4)]);
    const ten = rule("hundred", fixedWindow({ limit: 10, windowMs: 10_000 }));
    node.apply("take", [operation(ten, "k", 5)]);
    await clock.advance(12);
    expect(store.calls.at(-1)?.limit).toBe(ten.limit);
    expect(await remaining(store.memory, ten, "k")).toBe(1);
  });
});

describe("what a window has left when it closes", () => {
  const aligned: [string, Limit][] = [
    ["fixed window", fixedWindow(rate)],
    ["sliding window counter", slidingWindow(rate)],
  ];
  const others: [string, Limit][] = [
    ["fixed window by the request", fixedWindow(rate, { anchor: "request" })],
    ["sliding window log", slidingWindowLog(rate)],
    ["gcra", gcra(rate)],
  ];

  it.each(aligned)("%s: is dropped, and not charged to the next", async (_, limit) => {
    const { clock, store, node } = setUp();
    const each = rule("each", limit);
    await clock.advance(9_995);
    node.apply("take", [operation(each, "k", 7)]);
    await clock.advance(5);
    node.apply("take", [operation(each, "k", 2)]);
    expect(node.stats).toMatchObject({ pendingUnits: 2, droppedUnits: { closed: 7 } });
    await clock.advance(20);
    expect(store.said()).toEqual(["penalize k 2"]);
  });

  it.each(aligned)("%s: is dropped though nothing comes after it", async (_, limit) => {
    const { clock, store, node } = setUp();
    await clock.advance(9_995);
    node.apply("take", [operation(rule("each", limit), "k", 7)]);
    await clock.advance(100);
    expect(store.said()).toEqual([]);
    expect(node.stats).toMatchObject({ pendingUnits: 0, droppedUnits: { closed: 7 } });
  });

  it.each(aligned)("%s: is void when it arrives too late, which is not a failure", async (_, limit) => {
    const { clock, store, node } = setUp({ roundTripMs: 20 });
    const each = rule("each", limit);
    await clock.advance(9_985);
    node.apply("take", [operation(each, "k", 7)]);
    await clock.advance(100);
    expect(store.calls[0]).toMatchObject({ action: "penalize", options: { voidFrom: (START_MS + 10_000) * 1000 } });
    expect(await remaining(store.memory, each, "k")).toBe(100);
    expect(node.stats).toMatchObject({ pendingUnits: 0, failedFlushes: 0, droppedUnits: { closed: 7 } });
    expect(node.apply("take", [operation(each, "k")])).toMatchObject([{ degraded: false }]);
  });

  it("is void for many keys with one peek for all of them", async () => {
    const { clock, store, node } = setUp({ roundTripMs: 20 });
    await clock.advance(9_985);
    for (let i = 0; i < 50; i += 1) node.apply("take", [operation(hundred, `k${i}`)]);
    await clock.advance(100);
    expect(store.said().filter((call) => call.startsWith("peek"))).toEqual(["peek k0 1"]);
    expect(node.stats).toMatchObject({ pendingUnits: 0, droppedUnits: { closed: 50 } });
  });

  it.each(others)("%s: is a window older than its first unit", async (_, limit) => {
    const { clock, store, node } = setUp({ flushMs: 20_000, roundTripMs: 0 });
    const each = rule("each", limit);
    await clock.advance(5);
    node.apply("take", [operation(each, "k", 7)]);
    await clock.advance(9_999.999);
    node.apply("take", [operation(each, "k", 1)]);
    expect(node.stats).toMatchObject({ pendingUnits: 8, droppedUnits: { closed: 0 } });
    await clock.advance(0.001);
    node.apply("take", [operation(each, "k", 2)]);
    expect(node.stats).toMatchObject({ pendingUnits: 2, droppedUnits: { closed: 8 } });
    await ask(node, "peek", each, "k");
    expect(store.calls[0].options).toEqual({ voidFrom: (START_MS + 20_005) * 1000 });
  });

  it("is dropped also by a peek that would write it", async () => {
    const { clock, store, node } = setUp({ flushMs: 20_000, roundTripMs: 0 });
    await clock.advance(9_995);
    node.apply("take", [operation(hundred, "k", 7)]);
    await clock.advance(5);
    expect(await ask(node, "peek", hundred, "k")).toMatchObject({ remaining: 100 });
    expect(store.said()).toEqual(["peek k 1"]);
  });
});
