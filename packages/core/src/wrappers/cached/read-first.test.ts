import { describe, expect, it, vi } from "vitest";
import { operation, remaining, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore, timedOut } from "../../../test/wrappers/cached/distant-store.ts";
import { cached, fixedWindow, HeadgateError, type Limit } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const START_MS = 1_700_000_000_000;
vi.spyOn(process, "emitWarning").mockImplementation(() => {});
const limit: Limit = fixedWindow({ limit: 10, windowMs: 10_000 });
const ten = rule("ten", limit);

function setUp() {
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, 2);
  const node = cached(store, { clock, read: true });
  const take = async (cost = 1) => {
    const asked = Promise.resolve(node.apply("take", [operation(ten, "k", cost)]));
    const [[answer]] = await Promise.all([asked, clock.advance(2)]);
    return answer;
  };
  return { clock, store, node, take };
}

describe("a cached store that reads first", () => {
  it("admits what the store has room for, and writes behind", async () => {
    const { clock, store, take } = setUp();
    expect(await take(3)).toMatchObject({ allowed: true, remaining: 7, source: "cache" });
    expect(store.said()).toEqual(["peek k 3"]);
    await clock.advance(12);
    expect(store.said()).toEqual(["penalize k 3"]);
    expect(await remaining(store.memory, ten, "k")).toBe(7);
  });

  it("denies what others have used up, with the store's answer, and then from the cache", async () => {
    const { store, node, take } = setUp();
    store.memory.apply("take", [operation(ten, "k", 10)]);
    expect(await take()).toMatchObject({ allowed: false, retryAfter: 9_999_000, source: "store" });
    store.said();
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: false, source: "cache" }]);
    expect(store.said()).toEqual([]);
  });

  it("accounts for what this process itself admitted meanwhile", async () => {
    const { node, clock } = setUp();
    const asked = Array.from({ length: 15 }, () => node.apply("take", [operation(ten, "k")]));
    const [answers] = await Promise.all([Promise.all(asked), clock.advance(2)]);
    expect(answers.filter(([{ allowed }]) => allowed)).toHaveLength(10);
  });

  it("decides alone, at once, when the store fails", async () => {
    const { store, node, take } = setUp();
    store.fail(timedOut);
    expect(await take()).toMatchObject({ allowed: true, degraded: true });
    expect(node.apply("take", [operation(ten, "k")])).toMatchObject([{ allowed: true, degraded: true }]);
  });

  it("reads again once the store is back", async () => {
    const { clock, store, take } = setUp();
    store.fail(timedOut);
    await take();
    store.fail();
    await clock.advance(100);
    store.said();
    expect(await take()).toMatchObject({ allowed: true, degraded: false });
    expect(store.said()).toEqual(["peek k 1"]);
  });

  it("hands on a mistake of the caller", async () => {
    const { store, take } = setUp();
    const mistake = new HeadgateError("HG_KEYS_APART", "checks[1].key", "must be the same");
    store.fail(mistake);
    await expect(take()).rejects.toBe(mistake);
  });
});
