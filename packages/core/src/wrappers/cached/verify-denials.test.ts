import { describe, expect, it, vi } from "vitest";
import { ask, operation, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore, unreachable } from "../../../test/wrappers/cached/distant-store.ts";
import { cached, fixedWindow } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const START_MS = 1_700_000_000_000;
vi.spyOn(process, "emitWarning").mockImplementation(() => {});
const ten = rule("ten", fixedWindow({ limit: 10, windowMs: 3_600_000 }));

function setUp() {
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, 2);
  const node = cached(store, { confirm: false, clock, refreshMs: 500 });
  const takes = async (cost = 1) => (await node.apply("take", [operation(ten, "k", cost)]))[0].allowed;
  return { clock, store, node, takes };
}

describe("a denial that is in use", () => {
  it("is verified with the store once each refreshMs, however often it is met", async () => {
    const { clock, store, takes } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 10)]);
    await takes();
    await clock.advance(12);
    store.said();
    for (let i = 0; i < 1_500; i += 1) {
      expect(await takes()).toBe(false);
      await clock.advance(1);
    }
    expect(store.said()).toEqual(["peek k 1", "peek k 1"]);
  });

  it("is not verified while no request hits it", async () => {
    const { clock, store, takes } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 10)]);
    await takes();
    await clock.advance(12);
    store.said();
    await clock.advance(10_000);
    expect(store.said()).toEqual([]);
  });

  it.each([1, 4])("is lifted within refreshMs of a reset elsewhere, cost %d", async (cost) => {
    const { clock, store, takes } = setUp();
    while (await takes(cost));
    await clock.advance(1_234);
    expect(await takes(cost)).toBe(false);
    await clock.advance(10);
    store.memory.apply("reset", [operation(ten, "k")]);
    let deniedFor = 0;
    for (; !(await takes(cost)); deniedFor += 1) await clock.advance(1);
    expect(deniedFor).toBeGreaterThan(0);
    expect(deniedFor).toBeLessThanOrEqual(502);
  });

  it("by this process's own use is verified at once, for the key may have been reset elsewhere", async () => {
    const { clock, store, takes } = setUp();
    for (let i = 0; i < 8; i += 1) await takes();
    await clock.advance(12);
    store.memory.apply("reset", [operation(ten, "k")]);
    for (let i = 0; i < 2; i += 1) expect(await takes()).toBe(true);
    expect(await takes()).toBe(false);
    await clock.advance(4);
    expect(await takes()).toBe(true);
  });

  it("by this process's own use stays while the store knows of it", async () => {
    const { clock, store, takes } = setUp();
    for (let i = 0; i < 10; i += 1) await takes();
    for (let i = 0; i < 3_000; i += 1) {
      expect(await takes()).toBe(false);
      await clock.advance(1);
    }
    expect(store.said().length).toBeLessThan(8);
  });

  it("by this process's own use needs no peek if the store confirms it on the write", async () => {
    const { clock, store, takes } = setUp();
    for (let i = 0; i < 11; i += 1) await takes();
    await clock.advance(100);
    expect(store.said()).toEqual(["penalize k 10"]);
  });

  it("stays while the store fails, and is marked as degraded", async () => {
    const { clock, store, node, takes } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 10)]);
    await takes();
    await clock.advance(12);
    store.fail(unreachable);
    for (let i = 0; i < 5; i += 1) {
      await clock.advance(500);
      expect(await takes()).toBe(false);
    }
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false, degraded: true }]);
    store.fail();
    await clock.advance(500);
    await takes();
    await clock.advance(2);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false, degraded: false }]);
  });

  it("stays if what was admitted meanwhile needs the room that the store has", async () => {
    const { clock, store, takes } = setUp();
    await takes(6);
    await clock.advance(20);
    expect(await takes(5)).toBe(false);
    store.memory.apply("refund", [operation(ten, "k")]);
    expect(await takes(1)).toBe(true);
    await clock.advance(2);
    expect(await takes(5)).toBe(false);
  });

  it("leaves only what was admitted meanwhile when it is lifted", async () => {
    const { clock, store, takes } = setUp();
    await takes(6);
    await clock.advance(20);
    expect(await takes(5)).toBe(false);
    store.memory.apply("reset", [operation(ten, "k")]);
    expect(await takes(4)).toBe(true);
    await clock.advance(2);
    expect(await takes(7)).toBe(false);
    expect(await takes(6)).toBe(true);
  });

  it("is not lifted by an answer from before it", async () => {
    const clock = new ManualClock(START_MS);
    const store = new DistantStore(clock);
    const node = cached(
      {
        clock,
        async apply(action, operations, options) {
          const answers = await store.apply(action, operations, options);
          if (action === "peek") await clock.sleep(50);
          return answers;
        },
      },
      { confirm: false, clock, refreshMs: 0 },
    );
    await ask(node, "penalize", ten, "k", 12);
    store.memory.apply("reset", [operation(ten, "k")]);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false }]);
    await clock.advance(10);
    await ask(node, "penalize", ten, "k", 12);
    await clock.advance(100);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false }]);
  });

  it("is verified also when the clock has been put back", async () => {
    const { clock, store, takes } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 10)]);
    await takes();
    await clock.advance(12);
    store.said();
    clock.set(START_MS - 60_000);
    expect(await takes()).toBe(false);
    expect(store.said()).toEqual(["peek k 1"]);
  });
});
