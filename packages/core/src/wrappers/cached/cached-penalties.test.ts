import { describe, expect, it, vi } from "vitest";
import { ask, operation, remaining, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore, unreachable } from "../../../test/wrappers/cached/distant-store.ts";
import { type Action, cached, fixedWindow, type Store, tokenBucket } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const START_MS = 1_700_000_000_000;
vi.spyOn(process, "emitWarning").mockImplementation(() => {});
const ten = rule("ten", fixedWindow({ limit: 10, windowMs: 10_000 }));

function setUp() {
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, 2);
  const node = cached(store, { confirm: false, clock });
  /** Asks, and lets the time pass that it takes. */
  const does = async (action: Action, cost = 1, at: Store = node) => {
    const [answer] = await Promise.all([ask(at, action, ten, "k", cost), clock.advance(20)]);
    return answer;
  };
  return { clock, store, node, does };
}

describe("peek and penalize on a cached store", () => {
  it.each(["peek", "penalize"] as const)("%s sees what was admitted and not yet written", async (action) => {
    const { store, node, does } = setUp();
    node.apply("take", [operation(ten, "k", 3)]);
    node.apply("take", [operation(ten, "other", 3)]);
    const answer = await does(action, 2);
    expect(answer).toMatchObject({ allowed: true, remaining: action === "peek" ? 7 : 5, source: "store" });
    expect(store.said().slice(0, 2)).toEqual(["penalize k 3", `${action} k 2`]);
  });

  it("sees what is under way", async () => {
    const { clock, node, does } = setUp();
    node.apply("take", [operation(ten, "k", 3)]);
    await clock.advance(10.5);
    expect(await does("peek")).toMatchObject({ remaining: 7 });
  });

  it("a penalty that leaves nothing denies at once", async () => {
    const { store, node, does } = setUp();
    expect(await does("penalize", 12)).toMatchObject({ allowed: false });
    store.said();
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false, source: "cache" }]);
    expect(store.said()).toEqual([]);
  });

  it("a peek that is denied is remembered for its cost and more, and not for less", async () => {
    const { store, node, does } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 6)]);
    expect(await does("peek", 5)).toMatchObject({ allowed: false, remaining: 4 });
    expect(node.apply("take", [operation(ten, "k", 5)])).toMatchObject([{ allowed: false }]);
    expect(node.apply("take", [operation(ten, "k", 4)])).toMatchObject([{ allowed: true }]);
  });

  it("a peek that is denied for its cost does not replace a denial for less", async () => {
    const { store, node, does } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 10)]);
    await does("peek", 1);
    await does("peek", 5);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false }]);
  });

  it("a peek of cost 0 that is denied says nothing of other costs", async () => {
    const { clock, store, node } = setUp();
    const bucket = rule("bucket", tokenBucket({ limit: 10, windowMs: 10_000 }));
    store.memory.apply("penalize", [operation(bucket, "k", 12)]);
    for (const cost of [1, 0]) {
      const asked = ask(node, "peek", bucket, "k", cost);
      await clock.advance(2);
      expect(await asked).toMatchObject({ allowed: false });
    }
    await clock.advance(2_500);
    expect(node.apply("take", [operation(bucket, "k")])).toMatchObject([{ allowed: false }]);
  });

  it("fail when the store fails, and keep what is pending", async () => {
    const { store, node, does, clock } = setUp();
    store.failures = { peek: unreachable, penalize: unreachable };
    await expect(does("peek")).rejects.toBe(unreachable);
    store.fail();
    node.apply("take", [operation(ten, "k", 3)]);
    await clock.advance(20);
    expect(await remaining(store.memory, ten, "k")).toBe(7);
  });
});

describe("refund on a cached store", () => {
  it("returns what was admitted and not yet written", async () => {
    const { store, node, does } = setUp();
    node.apply("take", [operation(ten, "k", 8)]);
    expect(await does("refund", 3)).toMatchObject({ allowed: true, remaining: 5 });
    expect(node.apply("take", [operation(ten, "k", 5)])).toMatchObject([{ allowed: true, remaining: 0 }]);
    expect(await remaining(store.memory, ten, "k")).toBe(5);
  });

  it("admits a key that was denied before", async () => {
    const { store, node, does } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 12)]);
    await does("peek");
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false }]);
    expect(await does("refund", 2)).toMatchObject({ allowed: false });
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false }]);
    expect(await does("refund", 2)).toMatchObject({ allowed: true });
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: true }]);
  });
});

describe("reset on a cached store", () => {
  it("forgets a denial, what was admitted, and what waits to be written", async () => {
    const { store, node, does } = setUp();
    for (let i = 0; i < 11; i += 1) node.apply("take", [operation(ten, "k")]);
    expect(await does("reset")).toMatchObject({ allowed: true, remaining: 10 });
    expect(node.apply("take", [operation(ten, "k", 10)])).toMatchObject([{ allowed: true, remaining: 0 }]);
    expect(await remaining(store.memory, ten, "k")).toBe(10);
  });

  it("forgets what was admitted before there is any denial", async () => {
    const { node, does } = setUp();
    node.apply("take", [operation(ten, "k", 8)]);
    await does("reset");
    expect(node.apply("take", [operation(ten, "k", 10)])).toMatchObject([{ allowed: true }]);
  });

  it("forgets writes in flight", async () => {
    const { clock, store, node, does } = setUp();
    node.apply("take", [operation(ten, "k", 6)]);
    await clock.advance(10.5);
    await does("reset");
    expect(await remaining(store.memory, ten, "k")).toBe(10);
  });

  it("that comes right after an outage forgets what has waited since", async () => {
    const { clock, store, node, does } = setUp();
    store.fail(unreachable);
    node.apply("take", [operation(ten, "k")]);
    await clock.advance(12);
    node.apply("take", [operation(ten, "k", 6)]);
    store.failures = { peek: unreachable };
    await does("reset");
    store.fail();
    await clock.advance(100);
    expect(await remaining(store.memory, ten, "k")).toBe(10);
    expect(node.stats.pendingUnits).toBe(0);
  });

  it("that fails forgets nothing", async () => {
    const { clock, store, node, does } = setUp();
    store.fail(unreachable);
    node.apply("take", [operation(ten, "k")]);
    await clock.advance(12);
    node.apply("take", [operation(ten, "k", 6)]);
    await expect(does("reset")).rejects.toBe(unreachable);
    expect(node.stats.pendingUnits).toBe(6);
    store.fail();
    await clock.advance(100);
    expect(await remaining(store.memory, ten, "k")).toBe(4);
  });
});

describe("a rule whose limit changes", () => {
  const twenty = rule("ten", fixedWindow({ limit: 20, windowMs: 10_000 }));

  it("does not apply denials of the old limit", async () => {
    const { store, node, does } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 10)]);
    await does("peek");
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false }]);
    expect(node.apply("take", [operation(twenty, "k")])).toMatchObject([{ allowed: true }]);
  });

  it("is not denied by an answer that was given under the old one", async () => {
    const { clock, store, node } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 10)]);
    node.apply("take", [operation(ten, "k")]);
    await clock.advance(11.5);
    node.apply("take", [operation(twenty, "k")]);
    await clock.advance(1);
    expect(node.apply("take", [operation(twenty, "k")])).toMatchObject([{ allowed: true }]);
  });

  it("does not come back with an answer that was given under it", async () => {
    const { clock, node } = setUp();
    node.apply("take", [operation(ten, "k")]);
    await clock.advance(11.5);
    for (const cost of [20, 1]) node.apply("take", [operation(twenty, "other", cost)]);
    expect(node.stats.limitedKeys).toBe(1);
    await clock.advance(0.5);
    expect(node.stats.limitedKeys).toBe(1);
  });

  it("to an equal one keeps the denials of the old one", async () => {
    const { store, node, does } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 10)]);
    await does("peek");
    const same = rule("ten", fixedWindow({ limit: 10, windowMs: 10_000 }));
    expect(node.apply("take", [operation(same, "k")])).toMatchObject([{ allowed: false }]);
  });
});
