import { describe, expect, it } from "vitest";
import { operation, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore } from "../../../test/wrappers/cached/distant-store.ts";
import { cached, fixedWindow, gcra, tokenBucket } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const START_MS = 1_700_000_000_000;
const ten = rule("ten", fixedWindow({ limit: 10, windowMs: 10_000 }));

function setUp(roundTripMs = 2) {
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, roundTripMs);
  return { clock, store, node: cached(store, { confirm: false, clock }) };
}

describe("a request to a cached store", () => {
  it("is admitted at once, without a promise and without the store", () => {
    const { store, node } = setUp();
    const time = START_MS * 1000;
    expect(node.apply("take", [operation(ten, "k", 3)])).toEqual([
      { time, allowed: true, remaining: 7, retryAfter: 0, resetAfter: 10_000_000, source: "cache", degraded: false },
    ]);
    expect(store.said()).toEqual([]);
  });

  it("is denied at once, without the store, from when the store has said so until the time it said", async () => {
    const { clock, store, node } = setUp();
    store.memory.apply("take", [operation(ten, "k", 9)]);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: true }]);
    // Written after 10 ms, decided 1 ms later, known here after another.
    await clock.advance(12);
    expect(store.said()).toEqual(["penalize k 1"]);
    const [retryAfter, resetAfter] = [9_989_000, 9_989_000];
    // By the clock of the store, which decided a millisecond before we knew: so the window ends when it says.
    const time = START_MS * 1000 + 11_000;
    expect(node.apply("take", [operation(ten, "k")])).toEqual([
      { time, allowed: false, remaining: 0, retryAfter, resetAfter, source: "cache", degraded: false },
    ]);
    await clock.advance(989);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false, retryAfter: 9_000_000 }]);
    expect(store.said()).toEqual([]);
    await clock.advance(8_999.999);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false, retryAfter: 1 }]);
    store.said();
    await clock.advance(0.001);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: true }]);
  });

  it("that is known to be limited under one rule only is charged to none", async () => {
    const { clock, store, node } = setUp();
    const other = rule("other", gcra({ limit: 5, windowMs: 5_000 }));
    store.memory.apply("take", [operation(ten, "k", 10)]);
    node.apply("take", [operation(ten, "k")]);
    await clock.advance(12);
    store.said();
    const answers = node.apply("take", [operation(other, "k", 2), operation(ten, "k")]);
    expect(answers).toMatchObject([
      { allowed: true, remaining: 5, retryAfter: 0 },
      { allowed: false, remaining: 0, retryAfter: 9_989_000 },
    ]);
    await clock.advance(100);
    expect(store.said()).toEqual([]);
    expect(node.apply("take", [operation(other, "k", 5)])).toMatchObject([{ allowed: true }]);
  });

  it("that exceeds what this process alone may admit is denied, however slow the store is", async () => {
    const { clock, node } = setUp(30_000);
    for (let i = 0; i < 10; i += 1)
      expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: true }]);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([
      { allowed: false, remaining: 0, retryAfter: 10_010_000, source: "cache" },
    ]);
    // The store is told, and so has room, up to flushMs later.
    await clock.advance(10_010);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: true }]);
  });

  it("of a large cost gets the wait until that cost fits, and a smaller one still passes", () => {
    const { node } = setUp();
    const bucket = rule("bucket", tokenBucket({ limit: 10, windowMs: 10_000 }));
    node.apply("take", [operation(bucket, "k", 7)]);
    for (let i = 0; i < 2; i += 1) {
      const denied = { allowed: false, remaining: 3, retryAfter: 2_010_000, resetAfter: 7_010_000 };
      expect(node.apply("take", [operation(bucket, "k", 5)])).toMatchObject([denied]);
      expect(node.apply("take", [operation(bucket, "k", 6)])).toMatchObject([{ ...denied, retryAfter: 3_010_000 }]);
    }
    expect(node.apply("take", [operation(bucket, "k", 11)])).toMatchObject([{ retryAfter: Number.POSITIVE_INFINITY }]);
    expect(node.apply("take", [operation(bucket, "k", 3)])).toMatchObject([{ allowed: true, remaining: 0 }]);
  });

  it("of a cost that can never fit is denied as such, also while the key is limited", async () => {
    const { clock, store, node } = setUp();
    store.memory.apply("penalize", [operation(ten, "k", 10)]);
    node.apply("take", [operation(ten, "k")]);
    await clock.advance(12);
    expect(node.apply("take", [operation(ten, "k", 11)])).toMatchObject([
      { allowed: false, retryAfter: Number.POSITIVE_INFINITY },
    ]);
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false, retryAfter: 9_989_000 }]);
  });

  it("of a cost that can never fit does not make the key limited, and does not reach the store", async () => {
    const { clock, store, node } = setUp();
    node.apply("take", [operation(ten, "k", 11)]);
    await clock.advance(100);
    expect(store.said()).toEqual([]);
    void node.apply("peek", [operation(ten, "k", 11)]);
    await clock.advance(100);
    expect(node.stats.limitedKeys).toBe(0);
  });

  it("of cost 0 takes nothing, and is not reported as pending", async () => {
    const { clock, store, node } = setUp();
    expect(node.apply("take", [operation(ten, "k", 0)])).toMatchObject([{ allowed: true, remaining: 10 }]);
    await clock.advance(100);
    expect(store.said()).toEqual([]);
  });
});

describe("keys of a cached store", () => {
  it("are limited each on its own, under each rule on its own, whatever is in them", async () => {
    const { clock, store, node } = setUp();
    const other = rule("other", fixedWindow({ limit: 10, windowMs: 10_000 }));
    store.memory.apply("penalize", [operation(ten, "__proto__", 10)]);
    node.apply("take", [operation(ten, "__proto__")]);
    await clock.advance(12);
    expect(node.apply("take", [operation(ten, "__proto__")])).toMatchObject([{ allowed: false }]);
    for (const key of ["", "constructor", "_proto_"]) {
      expect(node.apply("take", [operation(ten, key)])).toMatchObject([{ allowed: true }]);
    }
    expect(node.apply("take", [operation(other, "__proto__")])).toMatchObject([{ allowed: true }]);
  });
});
