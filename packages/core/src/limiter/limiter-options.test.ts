import { describe, expect, it } from "vitest";
import { bucketedWindow, fixedWindow, gcra, leakyBucket, MemoryStore, rateLimiter } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const rules = { api: gcra("1/s"), mail: leakyBucket("1/s") };

describe("the options of a limiter", () => {
  it.each<[unknown, string]>([
    [null, "options"],
    [5, "options"],
    [{ maxKey: 5 }, "options.maxKey"],
    [{ maxKeys: 0 }, "maxKeys"],
    [{ sweep: "no" }, "sweep"],
    [{ clock: 5 }, "clock"],
    [{ clock: {} }, "clock"],
    [{ clock: Date }, "clock"],
    [{ clock: { now: () => Number.NaN, sleep: async () => {} } }, "clock"],
    [{ store: new MemoryStore(), clock: new ManualClock() }, "options.clock"],
    [{ store: {} }, "store"],
  ])("refuse %j", (options, field) => {
    expect(() => rateLimiter(rules, options as never)).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field }),
    );
  });

  it("of a store refuse what they do not know", () => {
    expect(() => new MemoryStore({ maxkeys: 5 } as never)).toThrow("options.maxkeys: is unknown");
  });

  it("of a test limiter are those of a store, and when its clock starts", () => {
    const { limiter, clock } = testLimiter(rules, { maxKeys: 1, startMs: 5 });
    expect(clock.now()).toBe(5_000);
    limiter.checkSync("api", "a");
    limiter.checkSync("api", "b");
    expect(limiter.store.stats["api"]).toEqual({ keys: 1, overflowed: 1 });
    expect(() => testLimiter(rules, { startMS: 5 } as never)).toThrow("options.startMS");
  });

  it("of waiting name all that there are", async () => {
    const { limiter } = testLimiter(rules);
    const known = "options.maxwait: is unknown (known: cost, limit, signal, maxWaitMs";
    await expect(limiter.wait("api", "k", { maxwait: 3 } as never)).rejects.toThrow(`${known})`);
    const scheduled = limiter.schedule("mail", "k", () => 1, { maxwait: 3 } as never);
    await expect(scheduled).rejects.toThrow(`${known}, whenFull)`);
    for (const bad of [null, 3, []]) {
      await expect(limiter.wait("api", "k", bad as never)).rejects.toMatchObject({ field: "options" });
      await expect(limiter.schedule("mail", "k", () => 1, bad as never)).rejects.toMatchObject({ field: "options" });
    }
    await expect(limiter.wait("api", "k", { signal: {} } as never)).rejects.toMatchObject({ field: "signal" });
    expect(limiter.peekSync("api", "k").remaining).toBe(1);
  });
});

it.each([Number.NaN, "5", undefined, Number.POSITIVE_INFINITY])(
  "a manual clock refuses to be set to %s",
  async (ms) => {
    const clock = new ManualClock(1);
    expect(() => clock.set(ms as number)).toThrow(expect.objectContaining({ code: "HG_BAD_TIME" }));
    await expect(clock.advance(ms as number)).rejects.toMatchObject({ code: "HG_BAD_TIME" });
    expect(clock.now()).toBe(1_000);
  },
);

describe("keys without room", () => {
  it("share one quota within one request, too", () => {
    const { limiter } = testLimiter({ api: fixedWindow("2/m") }, { maxKeys: 1 });
    limiter.checkSync("api", "x");
    const checks = ["a", "b", "c"].map((key) => ({ rule: "api", key }) as const);
    expect(limiter.checkAllSync(checks).allowed).toBe(false);
    expect(limiter.checkAllSync(checks.slice(1)).allowed).toBe(true);
    expect(limiter.checkSync("api", "d").allowed).toBe(false);
  });

  it("do not take the place of a key that has room", async () => {
    const { limiter, clock } = testLimiter({ api: fixedWindow("1/m") }, { maxKeys: 3 });
    await clock.advance(30_000);
    for (const key of ["a", "b", "c", "d"]) limiter.checkSync("api", key);
    expect(limiter.store.stats["api"]).toEqual({ keys: 3, overflowed: 1 });
    await clock.advance(90_000);
    for (const key of ["e", "f", "g"]) expect(limiter.checkSync("api", key).allowed).toBe(true);
    expect(limiter.store.stats["api"].overflowed).toBe(1);
  });

  it("are counted by requests only", () => {
    const { limiter } = testLimiter({ api: fixedWindow("1/m") }, { maxKeys: 1 });
    limiter.checkSync("api", "a");
    limiter.peekSync("api", "b");
    limiter.resetSync("api", "b");
    expect(limiter.store.stats["api"]).toEqual({ keys: 1, overflowed: 0 });
  });
});

it("corrections are answered as a peek of cost 1 is", () => {
  const { limiter } = testLimiter({ api: gcra("5/s") });
  const { cost, retryAfterMs, deniedBy } = limiter.penalizeSync("api", "k", { cost: 50 });
  expect({ cost, retryAfterMs, deniedBy }).toEqual({ cost: 1, retryAfterMs: 9200, deniedBy: ["api"] });
  expect(String(limiter.refundSync("api", "k", { cost: 50 }).explain())).toContain("allowed a cost of 1; 5 of 5 left");
});

it("wider buckets do not hold longer what narrower ones have counted", async () => {
  const { limiter, clock } = testLimiter({ api: bucketedWindow("100/s", { exact: true }) }, { startMs: 10_000 });
  for (let i = 0; i < 63; i += 1) {
    limiter.checkSync("api", "k");
    await clock.advance(0.001);
  }
  limiter.checkSync("api", "k", { cost: 36 });
  limiter.setLimit("api", bucketedWindow("100/s", { bucketWidthMs: 100 }));
  await clock.advance(950);
  limiter.checkSync("api", "k");
  await clock.advance(150);
  expect(limiter.peekSync("api", "k").remaining).toBe(99);
});
