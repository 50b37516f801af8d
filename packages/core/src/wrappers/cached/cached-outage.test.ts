import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { operation, remaining, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore, refused, timedOut, unreachable } from "../../../test/wrappers/cached/distant-store.ts";
import { cached, fixedWindow, gcra, MemoryStore, resilient } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const START_MS = 1_700_000_000_000;
const hundred = rule("hundred", fixedWindow({ limit: 100, windowMs: 10_000 }));

function setUp({ maxPending = 1_000 } = {}) {
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, 2);
  return { clock, store, node: cached(store, { confirm: false, clock, maxPending }) };
}

const warned = vi.spyOn(process, "emitWarning");
beforeEach(() => {
  warned.mockImplementation(() => {});
});
afterEach(() => {
  warned.mockReset();
});

describe("when the store of a cached store fails", () => {
  it.each([unreachable, timedOut, refused])("requests are still admitted at once, as degraded: %s", async (error) => {
    const { clock, store, node } = setUp();
    node.apply("take", [operation(hundred, "k")]);
    store.fail(error);
    expect(node.apply("take", [operation(hundred, "k")])).toMatchObject([{ allowed: true, degraded: false }]);
    await clock.advance(12);
    expect(node.apply("take", [operation(hundred, "k")])).toMatchObject([
      { allowed: true, remaining: 97, degraded: true, source: "cache" },
    ]);
    expect(node.apply("take", [operation(hundred, "k", 101)])).toMatchObject([{ allowed: false, degraded: true }]);
  });

  it("each process admits at most the limit by itself", async () => {
    const { clock, store, node } = setUp();
    store.fail(unreachable);
    let admitted = 0;
    for (let i = 0; i < 150; i += 1) {
      const [{ allowed }] = await node.apply("take", [operation(hundred, "k")]);
      if (allowed) admitted += 1;
      await clock.advance(1);
    }
    expect(admitted).toBe(100);
  });

  it("what it refused is written when it is back, once", async () => {
    const { clock, store, node } = setUp();
    store.failures = { penalize: refused };
    node.apply("take", [operation(hundred, "a", 3)]);
    node.apply("take", [operation(hundred, "b", 5)]);
    await clock.advance(50);
    node.apply("take", [operation(hundred, "a", 4)]);
    await clock.advance(500);
    expect(node.stats).toMatchObject({ pendingUnits: 12, droppedUnits: { closed: 0, unconfirmed: 0, overflow: 0 } });
    store.fail();
    await clock.advance(50);
    expect(await remaining(store.memory, hundred, "a")).toBe(93);
    expect(await remaining(store.memory, hundred, "b")).toBe(95);
    expect(node.stats.pendingUnits).toBe(0);
    expect(node.apply("take", [operation(hundred, "a")])).toMatchObject([{ degraded: false }]);
  });

  it.each([unreachable, timedOut])(
    "what may have been charged is not written again, but counted: %s",
    async (error) => {
      const { clock, store, node } = setUp();
      node.apply("take", [operation(hundred, "k", 3)]);
      store.fail(error);
      await clock.advance(100);
      expect(node.stats).toMatchObject({ pendingUnits: 0, droppedUnits: { unconfirmed: 3 } });
      store.fail();
      await clock.advance(100);
      expect(store.said()).toEqual(["penalize k 3"]);
    },
  );

  it("a charge whose answer is lost is not charged twice", async () => {
    const { clock, store, node } = setUp();
    store.losesAnswers = true;
    node.apply("take", [operation(hundred, "k", 3)]);
    await clock.advance(12);
    store.losesAnswers = false;
    node.apply("take", [operation(hundred, "k", 4)]);
    await clock.advance(100);
    expect(await remaining(store.memory, hundred, "k")).toBe(93);
  });

  it("what comes during the outage waits for an answered peek, so that none of it is lost", async () => {
    const { clock, store, node } = setUp();
    store.fail(timedOut);
    node.apply("take", [operation(hundred, "k", 3)]);
    await clock.advance(12);
    store.said();
    node.apply("take", [operation(hundred, "k", 4)]);
    node.apply("take", [operation(hundred, "other", 5)]);
    await clock.advance(1_000);
    // One after the other: a store may fail for some keys only.
    expect(new Set(store.said())).toEqual(new Set(["peek k 1", "peek other 1"]));
    store.fail();
    await clock.advance(20);
    const written = store.said().filter((call) => !call.startsWith("peek"));
    expect(written.sort()).toEqual(["penalize k 4", "penalize other 5"]);
    expect(await remaining(store.memory, hundred, "k")).toBe(96);
    expect(node.stats).toMatchObject({ pendingUnits: 0, droppedUnits: { unconfirmed: 3 } });
  });

  it("a store that answers and will not write is tried with one write at a time", async () => {
    const { clock, store, node } = setUp();
    store.failures = { penalize: refused };
    for (let i = 0; i < 50; i += 1) node.apply("take", [operation(hundred, `k${i}`)]);
    await clock.advance(12);
    expect(store.said()).toHaveLength(50);
    await clock.advance(14);
    expect(store.said()).toEqual(["peek k0 1", "penalize k0 1"]);
    expect(node.stats).toMatchObject({ pendingUnits: 50, failedFlushes: 2 });
  });

  it("what its window closes over is dropped and counted", async () => {
    const { clock, store, node } = setUp();
    store.fail(refused);
    node.apply("take", [operation(hundred, "k", 3)]);
    await clock.advance(9_990);
    expect(node.stats).toMatchObject({ pendingUnits: 3 });
    await clock.advance(20);
    expect(node.stats).toMatchObject({ pendingUnits: 0, droppedUnits: { closed: 3 } });
    store.fail();
    await clock.advance(100);
    expect(await remaining(store.memory, hundred, "k")).toBe(100);
  });

  it("what is refused after its window has closed takes nothing of the next with it", async () => {
    const clock = new ManualClock(START_MS);
    const store = new DistantStore(clock, 20);
    const node = cached(store, { confirm: false, clock });
    await clock.advance(9_985);
    store.fail(refused);
    node.apply("take", [operation(hundred, "k", 7)]);
    await clock.advance(16);
    node.apply("take", [operation(hundred, "k", 2)]);
    await clock.advance(100);
    expect(node.stats).toMatchObject({ pendingUnits: 2, droppedUnits: { closed: 7 } });
  });

  it("what is refused and what came since count no longer than the first of them, if windows are not aligned", async () => {
    const clock = new ManualClock(START_MS);
    const store = new DistantStore(clock, 2);
    const node = cached(store, { confirm: false, clock, flushMs: 1_000 });
    const rate = rule("rate", gcra({ limit: 100, windowMs: 10_000 }));
    store.fail(refused);
    node.apply("take", [operation(rate, "k", 3)]);
    await clock.advance(1_000.5);
    node.apply("take", [operation(rate, "k", 4)]);
    await clock.advance(8_999);
    expect(node.stats.pendingUnits).toBe(7);
    await clock.advance(1_000.4);
    expect(node.stats).toMatchObject({ pendingUnits: 0, droppedUnits: { closed: 7 } });
  });

  it("no more than maxPending keys wait: the oldest are dropped and counted", async () => {
    const { clock, store, node } = setUp({ maxPending: 3 });
    store.fail(refused);
    node.apply("take", [operation(hundred, "a", 7)]);
    await clock.advance(12);
    store.said();
    for (const key of ["b", "c", "d", "e"]) node.apply("take", [operation(hundred, key, 2)]);
    expect(store.said()).toEqual([]);
    expect(node.stats).toMatchObject({ pendingUnits: 6, droppedUnits: { overflow: 9 } });
    store.fail();
    await clock.advance(50);
    expect(
      store
        .said()
        .filter((call) => call.startsWith("penalize"))
        .slice(-3),
    ).toEqual(["penalize c 2", "penalize d 2", "penalize e 2"]);
  });

  it("what is dropped while a peek is under way is not written after it", async () => {
    const { clock, store, node } = setUp({ maxPending: 2 });
    store.fail(refused);
    node.apply("take", [operation(hundred, "a", 7)]);
    await clock.advance(21.5);
    store.said();
    store.fail();
    for (const key of ["b", "c"]) node.apply("take", [operation(hundred, key, 2)]);
    await clock.advance(50);
    expect(store.said()).toEqual(["peek b 1", "penalize b 2", "penalize c 2"]);
    expect(node.stats.droppedUnits.overflow).toBe(7);
  });

  it("a store that never answers gets no more than it can owe", async () => {
    const clock = new ManualClock(START_MS);
    let calls = 0;
    const silent = { clock, apply: () => new Promise<never>(() => (calls += 1)) };
    const node = cached(silent, { confirm: false, clock, maxPending: 5 });
    for (let i = 0; i < 100; i += 1) {
      expect(node.apply("take", [operation(hundred, `k${i}`)])).toMatchObject([{ allowed: true }]);
      await clock.advance(3);
    }
    expect(calls).toBeLessThan(10);
    expect(node.stats.pendingUnits).toBeLessThan(15);
    expect(node.stats.pendingUnits + node.stats.droppedUnits.overflow).toBe(100);
  });

  it.each(["all", "writes"])("is tried again once a millisecond, though there is no flushMs: %s", async (failing) => {
    const clock = new ManualClock(START_MS);
    const store = new DistantStore(clock);
    const node = cached(store, { confirm: false, clock, flushMs: 0 });
    store.failures = failing === "all" ? { peek: refused, penalize: refused } : { penalize: refused };
    node.apply("take", [operation(hundred, "k")]);
    await clock.advance(10);
    expect(store.said().filter((call) => call.startsWith("peek"))).toHaveLength(10);
  });

  it("gets nothing more while it owes too many answers, though there is no flushMs", async () => {
    const clock = new ManualClock(START_MS);
    const node = cached(
      { clock, apply: () => new Promise<never>(() => {}) },
      { confirm: false, clock, flushMs: 0, maxPending: 1 },
    );
    for (const key of ["a", "b", "c"]) node.apply("take", [operation(hundred, key)]);
    await clock.advance(10);
    expect(node.stats).toMatchObject({ pendingUnits: 2, droppedUnits: { overflow: 1 } });
  });

  it("warns once for each outage", async () => {
    const { clock, store, node } = setUp();
    for (let outage = 1; outage <= 2; outage += 1) {
      store.fail(refused);
      node.apply("take", [operation(hundred, "k")]);
      await clock.advance(1_000);
      // That it answers a peek is not the end of the outage.
      store.failures = { penalize: refused };
      await clock.advance(1_000);
      expect(warned).toHaveBeenCalledTimes(outage);
      store.fail();
      await clock.advance(1_000);
    }
    expect(JSON.stringify(warned.mock.calls[0])).toMatch(/cached.*OOM.*HeadgateWarning.*HG_DEGRADED/);
  });

  it("with a mistake of ours, what cannot be written is dropped and counted", async () => {
    const { clock, store, node } = setUp();
    store.fail(new TypeError("no such thing"));
    node.apply("take", [operation(hundred, "k", 3)]);
    await clock.advance(100);
    expect(node.stats).toMatchObject({ pendingUnits: 0, droppedUnits: { rejected: 3 } });
    expect(warned).toHaveBeenCalledTimes(1);
  });

  it("short windows do not hide it: a write that comes too late is followed by a peek", async () => {
    const { clock, store, node } = setUp();
    const short = rule("short", fixedWindow({ limit: 100, windowMs: 10.5 }));
    await clock.advance((10_500 - (clock.now() % 10_500)) / 1000);
    node.apply("take", [operation(short, "k")]);
    await clock.advance(10);
    store.fail(timedOut);
    await clock.advance(3);
    expect(node.stats.droppedUnits).toMatchObject({ closed: 1, unconfirmed: 0 });
    expect(node.apply("take", [operation(short, "k")])).toMatchObject([{ degraded: true }]);
  });

  it("answers of a fallback inside it are marked as degraded", async () => {
    const clock = new ManualClock(START_MS);
    const store = new DistantStore(clock, 2);
    const node = cached(resilient(store, { clock, onError: "deny" }), { confirm: false, clock });
    store.fail(unreachable);
    node.apply("take", [operation(hundred, "k")]);
    await clock.advance(12);
    expect(node.apply("take", [operation(hundred, "k")])).toMatchObject([{ allowed: false, degraded: true }]);
  });

  it("a synchronous store that throws is treated the same", async () => {
    const clock = new ManualClock(START_MS);
    const memory = new MemoryStore({ clock });
    let fails = true;
    const node = cached(
      {
        clock,
        apply(action, operations) {
          if (fails) throw refused;
          return memory.apply(action, operations);
        },
      },
      { confirm: false, clock },
    );
    node.apply("take", [operation(hundred, "k", 3)]);
    await clock.advance(100);
    expect(node.stats.pendingUnits).toBe(3);
    fails = false;
    await clock.advance(20);
    expect(await remaining(memory, hundred, "k")).toBe(97);
  });
});
