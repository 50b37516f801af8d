import * as theirs from "express-rate-limit";
import { describe, expect, expectTypeOf, it } from "vitest";
import { resilient } from "../../../../src/index.ts";
import * as ours from "../../../../src/middleware/express-rate-limit.ts";
import { ManualClock } from "../../../../src/testing/index.ts";
import { SlowStore } from "../../../limiter/slow-store.ts";

describe("a HeadgateStore", () => {
  it("counts separately under each prefix, and exposes the prefix", async () => {
    const memory = new ours.MemoryStore();
    const [a, b] = ["a", "b"].map((prefix) => new ours.HeadgateStore(memory, { prefix }));
    for (const store of [a, b]) store.init({ windowMs: 86_400_000 });
    await a.increment("ann");
    expect((await a.increment("ann")).totalHits).toBe(2);
    expect((await b.increment("ann")).totalHits).toBe(1);
    expect(a.prefix).toBe("a");
  });

  it("never reports a time at which a window is still open", async () => {
    const store = new ours.HeadgateStore(new ours.MemoryStore({ clock: new ManualClock(0) }));
    store.init({ windowMs: 1000.4 });
    const { resetTime } = await store.increment("ann");
    expect(resetTime?.getTime()).toBe(1001);
  });

  it("reports the end of a window by the store's clock, and always the same", async () => {
    const clock = new ManualClock(1_700_000_000_000.25);
    const store = new ours.HeadgateStore(new ours.MemoryStore({ clock }));
    store.init({ windowMs: 60_000 });
    for (let i = 0; i < 3; i += 1) {
      expect((await store.increment("ann")).resetTime?.getTime()).toBe(1_700_000_060_001);
      await clock.advance(1_234.567);
    }
    expect((await store.get("ann"))?.resetTime?.getTime()).toBe(1_700_000_060_001);
  });

  it("says whether others see its keys", () => {
    expect(new ours.HeadgateStore(new ours.MemoryStore()).localKeys).toBe(true);
    expect(new ours.HeadgateStore(new SlowStore(new ManualClock(0))).localKeys).toBe(false);
  });

  it("counts nothing before it knows the window, nor with one that is none", async () => {
    const store = new ours.HeadgateStore(new ours.MemoryStore());
    await expect(store.increment("ann")).rejects.toMatchObject({ code: "HG_BAD_OPTION", field: "store" });
    expect(() => store.init({ windowMs: -1 })).toThrow(expect.objectContaining({ code: "HG_BAD_LIMIT" }));
    await expect(store.get("ann")).rejects.toMatchObject({ field: "store" });
  });

  it.each<[string, unknown, object]>([
    ["store", undefined, {}],
    ["store", new theirs.MemoryStore(), {}],
    ["prefix", new ours.MemoryStore(), { prefix: "" }],
    ["options.name", new ours.MemoryStore(), { name: "x" }],
  ])("refuses a %s that is none", (field, store, options) => {
    expect(() => new ours.HeadgateStore(store as ours.MemoryStore, options)).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field }),
    );
  });

  it("passes on the error of its store", async () => {
    const slow = new SlowStore(new ManualClock(0));
    slow.failure = new Error("down");
    const store = new ours.HeadgateStore(slow);
    store.init({ windowMs: 1_000 });
    await expect(store.increment("ann")).rejects.toThrow("down");
  });
});

describe("a HeadgateStore over resilient, while its store fails,", () => {
  const failing = { apply: () => Promise.reject(new Error("down")) };

  async function hits(onError: "allow" | "deny" | "local"): Promise<number> {
    const store = new ours.HeadgateStore(resilient(failing, { onError, nodes: 4 }));
    store.init({ windowMs: 60_000 });
    return (await store.increment("ann")).totalHits;
  }

  it("passes, refuses, or, having no limit to take a share of, refuses", async () => {
    expect(await hits("allow")).toBe(1);
    expect(await hits("deny")).toBeGreaterThan(1e15);
    expect(await hits("local")).toBeGreaterThan(1e15);
  });
});

describe("the types", () => {
  it("of the two packages fit each other", () => {
    expectTypeOf<ours.HeadgateStore>().toExtend<theirs.Store>();
    expectTypeOf<theirs.MemoryStore>().toExtend<ours.Store>();
    expectTypeOf<ours.RateLimitRequestHandler>().toExtend<theirs.RateLimitRequestHandler>();
    expectTypeOf<ours.RateLimitInfo>().toEqualTypeOf<theirs.RateLimitInfo>();
    expectTypeOf<Omit<theirs.Options, "store" | "validate" | "handler">>().toExtend<Partial<ours.Options>>();
    expectTypeOf(ours.default).toEqualTypeOf(ours.rateLimit);
  });
});
