import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { operation, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore, refused, unreachable } from "../../../test/wrappers/cached/distant-store.ts";
import { type Answer, cached, fixedWindow, resilient, StoreError, tokenBucket } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import type { CachedOptions } from "../../wrappers/cached/cached-options.ts";

const START_MS = 1_700_000_000_000;
const ROUND_TRIP_MS = 2;
const hundred = rule("hundred", fixedWindow({ limit: 100, windowMs: 10_000 }));

beforeEach(() => {
  vi.spyOn(process, "emitWarning").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

function setUp(options: CachedOptions = {}) {
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, ROUND_TRIP_MS);
  const node = cached(store, { clock, ...options });
  /** Asks, and lets time pass until the store has answered if it was asked. */
  const take = async (key = "k", cost = 1, at = node): Promise<Answer> => {
    const answers = at.apply("take", [operation(hundred, key, cost)]);
    if (!("then" in answers)) return answers[0];
    const [[answer]] = await Promise.all([answers, clock.advance(ROUND_TRIP_MS)]);
    return answer;
  };
  return { clock, store, node, take };
}

describe("a key that this process does not know", () => {
  it("is decided by the store, with one take", async () => {
    const { store, node, take } = setUp();
    store.memory.apply("take", [operation(hundred, "k", 40)]);
    expect(await take()).toMatchObject({ allowed: true, remaining: 59, source: "store", degraded: false });
    expect(store.said()).toEqual(["take k 1"]);
    expect(node.stats).toMatchObject({ confirmed: 1, pendingUnits: 0 });
  });

  it("is decided by the store for all requests that come before the store has answered", async () => {
    const { clock, store, node } = setUp();
    const asked = Array.from({ length: 150 }, () => node.apply("take", [operation(hundred, "k")]));
    await clock.advance(ROUND_TRIP_MS);
    const answers = (await Promise.all(asked)).map(([{ allowed }]) => allowed);
    expect(answers.filter(Boolean)).toHaveLength(100);
    expect(store.said()).toHaveLength(150);
  });

  it("is denied by the store, and then here without it", async () => {
    const { store, node, take } = setUp();
    store.memory.apply("take", [operation(hundred, "k", 100)]);
    expect(await take()).toMatchObject({ allowed: false, source: "store" });
    store.said();
    expect(node.apply("take", [operation(hundred, "k")])).toMatchObject([{ allowed: false, source: "cache" }]);
    expect(store.said()).toEqual([]);
  });

  it("is not known any more when nothing was heard of it for refreshMs", async () => {
    const { clock, store, take } = setUp({ refreshMs: 500 });
    await take();
    expect(await take()).toMatchObject({ source: "cache" });
    await clock.advance(400);
    expect(await take()).toMatchObject({ source: "cache" });
    await clock.advance(600);
    store.said();
    expect(await take()).toMatchObject({ source: "store" });
  });
});

describe("a key that is well within its limit", () => {
  it("is answered here at once, with what the store last reported minus what was admitted here", async () => {
    const { clock, store, node, take } = setUp();
    store.memory.apply("take", [operation(hundred, "k", 40)]);
    await take();
    store.said();
    expect(node.apply("take", [operation(hundred, "k", 9)])).toMatchObject([
      { allowed: true, remaining: 50, source: "cache" },
    ]);
    expect(store.said()).toEqual([]);
    await clock.advance(12);
    expect(store.said()).toEqual(["penalize k 9"]);
  });

  it("is decided by the store again once a fifth of its limit is left, after pending writes", async () => {
    const { store, node, take } = setUp();
    await take("k", 10);
    expect(node.apply("take", [operation(hundred, "k", 70)])).toMatchObject([{ source: "cache", remaining: 20 }]);
    store.said();
    expect(await take()).toMatchObject({ allowed: true, remaining: 19, source: "store" });
    expect(store.said()).toEqual(["penalize k 70", "take k 1"]);
  });

  it("is decided by the store if the request itself goes that near to the limit", async () => {
    const { take } = setUp();
    await take();
    expect(await take("k", 80)).toMatchObject({ allowed: true, source: "store", remaining: 19 });
  });

  it("follows the answers to writes, because other processes use it too", async () => {
    const { clock, store, take } = setUp();
    await take();
    store.memory.apply("take", [operation(hundred, "k", 85)]);
    expect(await take()).toMatchObject({ source: "cache" });
    await clock.advance(12);
    expect(await take()).toMatchObject({ allowed: true, source: "store", remaining: 12 });
  });
});

describe("several processes, one burst", () => {
  it.each([2, 4])("%d of them admit a limit of one unit once, and not once each", async (processes) => {
    const { clock, store } = setUp();
    const one = rule("one", fixedWindow({ limit: 1, windowMs: 10_000 }));
    const nodes = Array.from({ length: processes }, () => cached(store, { clock }));
    const asked = nodes.flatMap((node) =>
      Array.from({ length: 50 }, (_, i) => node.apply("take", [operation(one, `k${i}`)])),
    );
    await clock.advance(ROUND_TRIP_MS);
    const answers = (await Promise.all(asked)).map(([{ allowed }]) => allowed);
    expect(answers.filter(Boolean)).toHaveLength(50);
  });
});

describe("a denied request with a retry-after", () => {
  const bucket = rule("bucket", tokenBucket({ limit: 10, windowMs: 1_000 }));

  it.each([true, false])("is admitted exactly then, confirm: %s", async (confirm) => {
    const { clock, node } = setUp({ confirm });
    const take = async (): Promise<Answer> => {
      const asked = Promise.resolve(node.apply("take", [operation(bucket, "k")]));
      const [[answer]] = await Promise.all([asked, clock.advance(ROUND_TRIP_MS)]);
      return answer;
    };
    for (let i = 0; i < 30; i += 1) {
      let answer = await take();
      while (answer.allowed) answer = await take();
      // The wait counts from the store's answer, up to a round trip ago.
      await clock.advance(answer.retryAfter / 1000);
      expect(await take()).toMatchObject({ allowed: true });
    }
  });

  it("is admitted also if the store's clock was corrected meanwhile", async () => {
    const clock = new ManualClock(START_MS);
    let ahead = 3_000;
    const inner = new DistantStore(clock, ROUND_TRIP_MS);
    const serverClock = { now: () => clock.now() + ahead, sleep: (ms: number) => clock.sleep(ms) };
    const node = cached(
      { clock: serverClock, apply: (action, operations) => inner.apply(action, operations) },
      { clock },
    );
    const take = async (): Promise<Answer> => {
      const asked = Promise.resolve(node.apply("take", [operation(bucket, "k")]));
      const [[answer]] = await Promise.all([asked, clock.advance(ROUND_TRIP_MS)]);
      return answer;
    };
    let answer = await take();
    while (answer.allowed) answer = await take();
    answer = await take();
    expect(answer).toMatchObject({ allowed: false, source: "cache" });
    ahead = 0;
    await clock.advance(answer.retryAfter / 1000);
    expect(await take()).toMatchObject({ allowed: true });
  });
});

describe("a store that fails to confirm", () => {
  it("leaves the decision to this process, which does not write again what may have been charged", async () => {
    const { clock, store, node, take } = setUp();
    await clock.advance(1_000);
    store.failures = { take: unreachable };
    expect(await take("k", 3)).toMatchObject({ allowed: true, remaining: 97, source: "cache", degraded: true });
    await clock.advance(100);
    expect(store.said()).toEqual(["take k 3"]);
    expect(node.stats.droppedUnits.unconfirmed).toBe(3);
  });

  it("later receives the writes that it refused", async () => {
    const { clock, store, take } = setUp();
    await clock.advance(1_000);
    store.failures = { take: refused };
    expect(await take("k", 3)).toMatchObject({ allowed: true, source: "cache", degraded: true });
    await clock.advance(100);
    expect(store.memory.apply("peek", [operation(hundred, "k")])).toMatchObject([{ remaining: 97 }]);
  });

  it("holds up no request while it is known to fail", async () => {
    const { clock, store, node, take } = setUp();
    await clock.advance(1_000);
    store.fail(unreachable);
    await take();
    for (let i = 0; i < 10; i += 1) {
      expect(node.apply("take", [operation(hundred, `new ${i}`)])).toMatchObject([{ allowed: true, degraded: true }]);
    }
    store.fail();
    await clock.advance(30);
    expect(await take("newest")).toMatchObject({ source: "store", degraded: false });
  });

  it("for some keys only does not change how the others are decided", async () => {
    const { clock, store, node } = setUp();
    const broken = cached(
      {
        clock,
        apply: (action, operations, options) => {
          if (operations.some(({ key }) => key.startsWith("dead"))) return Promise.reject(unreachable);
          return store.apply(action, operations, options);
        },
      },
      { clock, refreshMs: 500 },
    );
    const take = async (key: string): Promise<Answer> => {
      const asked = Promise.resolve(broken.apply("take", [operation(hundred, key)]));
      const [[answer]] = await Promise.all([asked, clock.advance(ROUND_TRIP_MS)]);
      return answer;
    };
    expect(await take("live")).toMatchObject({ source: "store" });
    let letIn = 0;
    for (let i = 0; i < 120; i += 1) {
      const answer = await take("dead");
      expect(answer).toMatchObject({ source: "cache", degraded: true });
      if (answer.allowed) letIn += 1;
      expect(await take(`live ${i}`)).toMatchObject({ source: "store", degraded: false });
    }
    expect(letIn).toBe(100);
    expect(node.stats.failedFlushes).toBe(0);
  });

  it("passes on what is a mistake of the caller", async () => {
    const { clock, store, node } = setUp();
    store.failures = { take: new RangeError("no") };
    const asked = Promise.resolve(node.apply("take", [operation(hundred, "k")]));
    const seen = expect(asked).rejects.toThrow("no");
    await clock.advance(10);
    await seen;
  });

  it("decides by its own fallback, if it has one inside", async () => {
    const clock = new ManualClock(START_MS);
    const store = new DistantStore(clock, ROUND_TRIP_MS);
    const node = cached(resilient(store, { clock, onError: "deny", onDegraded: () => {} }), { clock });
    store.fail(new StoreError("HG_STORE_UNREACHABLE", "gone"));
    const asked = Promise.resolve(node.apply("take", [operation(hundred, "k")]));
    await clock.advance(10);
    expect(await asked).toMatchObject([{ allowed: false, source: "fallback", degraded: true }]);
  });
});

describe("a store that fails at once for every key", () => {
  it("afterwards receives what was admitted meanwhile, except for the first moments", async () => {
    const { clock, store, node, take } = setUp();
    await take();
    store.failures = { take: unreachable, peek: unreachable, penalize: unreachable };
    for (let i = 0; i < 60; i += 1) {
      await take();
      await clock.advance(15);
    }
    store.failures = {};
    await clock.advance(2_000);
    const [{ remaining }] = store.memory.apply("peek", [operation(hundred, "k", 0)]);
    // 61 were admitted. Only within 100 ms of its last answer may the store be taken for one that fails in part.
    expect(remaining).toBeLessThanOrEqual(100 - 50);
    expect(node.stats.droppedUnits.unconfirmed).toBeLessThan(10);
  });
});
