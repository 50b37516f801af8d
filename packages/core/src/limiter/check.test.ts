import { describe, expect, it } from "vitest";
import { kinds } from "../../test/limiter/kinds.ts";
import { fixedWindow, gcra, rateLimiter, slidingWindow, tokenBucket } from "../index.ts";
import { testLimiter } from "../testing/index.ts";

describe("check", () => {
  it("answers a decision with everything in it", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("10/s", { burst: 5 }) });
    const timeMs = clock.now() / 1000;
    expect(JSON.parse(JSON.stringify(await limiter.check("api", "k", { cost: 3 })))).toEqual({
      allowed: true,
      rule: "api",
      cost: 3,
      limit: 10,
      remaining: 2,
      retryAfterMs: 0,
      resetAfterMs: 300,
      source: "store",
      degraded: false,
      deniedBy: [],
      timeMs,
    });
    expect(JSON.parse(JSON.stringify(await limiter.check("api", "k", { cost: 4 })))).toEqual({
      allowed: false,
      rule: "api",
      cost: 4,
      limit: 10,
      remaining: 2,
      retryAfterMs: 200,
      resetAfterMs: 300,
      source: "store",
      degraded: false,
      deniedBy: ["api"],
      timeMs,
    });
  });

  it("computes the times of a decision by the store's clock, rounded up once", async () => {
    const { limiter, clock } = testLimiter({ api: fixedWindow("2/m") }, { startMs: 1_700_000_000_123.457 });
    const end = Math.ceil(1_700_000_000_123.457 / 60_000) * 60_000;
    const once = { cost: 2, idempotencyKey: "once" };
    const first = await limiter.check("api", "k", once);
    expect(first).toMatchObject({ timeMs: 1_700_000_000_123.457, retryAtMs: 1_700_000_000_124, resetAtMs: end });
    await clock.advance(1_000.001);
    expect(await limiter.check("api", "k", once)).toMatchObject({ timeMs: first.timeMs, resetAtMs: end });
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: false, retryAtMs: end, resetAtMs: end });
    expect(await limiter.check("api", "k", { cost: 3 })).toMatchObject({ retryAtMs: Number.POSITIVE_INFINITY });
    expect(await limiter.checkAll([{ rule: "api", key: "k" }])).toMatchObject({ retryAtMs: end, resetAtMs: end });
    expect(await limiter.wait("api", "k", { maxWaitMs: 1 })).toMatchObject({ retryAtMs: end, resetAtMs: end });
    const [many] = limiter.checkManySync("api", ["k"]);
    for (const decision of [many, limiter.checkSync("api", "k"), limiter.peekSync("api", "k")]) {
      expect(decision).toMatchObject({ timeMs: clock.now() / 1000, resetAtMs: end });
    }
  });

  it("costs 1 by default, and a cost of 0 takes nothing", async () => {
    const { limiter } = testLimiter({ api: gcra("10/s") });
    expect(await limiter.check("api", "k")).toMatchObject({ cost: 1, remaining: 9 });
    expect(await limiter.check("api", "k", {})).toMatchObject({ cost: 1, remaining: 8 });
    expect(await limiter.check("api", "k", { cost: 0 })).toMatchObject({ cost: 0, remaining: 8, allowed: true });
  });

  it("is a value when it denies, never an exception", async () => {
    const { limiter } = testLimiter({ api: gcra("1/s") });
    limiter.checkSync("api", "k");
    await expect(limiter.check("api", "k")).resolves.toMatchObject({ allowed: false });
    expect(limiter.checkSync("api", "k").allowed).toBe(false);
  });

  it("never passes a cost that is more than the limit holds", () => {
    const { limiter } = testLimiter({ api: tokenBucket("10/s", { burst: 5 }) });
    expect(limiter.checkSync("api", "k", { cost: 6 })).toMatchObject({
      allowed: false,
      remaining: 5,
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
  });

  it("keeps rules and keys apart", () => {
    const { limiter } = testLimiter({ api: gcra("1/m"), login: slidingWindow("1/m") });
    const asked = [
      limiter.checkSync("api", "ann"),
      limiter.checkSync("login", "ann"),
      limiter.checkSync("api", "bob"),
      limiter.checkSync("api", "ann"),
      limiter.checkSync("login", "ann"),
      limiter.checkSync("login", "bob"),
    ];
    expect(asked.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false, true]);
  });

  it("goes by the system's clock unless given another", () => {
    const limiter = rateLimiter({ api: gcra("1/d") });
    expect(limiter.checkSync("api", "k").allowed).toBe(true);
    expect(limiter.checkSync("api", "k").allowed).toBe(false);
  });
});

describe.each(kinds)("check under a %s", (_name, make) => {
  it("enforces a window of 30 days", () => {
    const { limiter, clock } = testLimiter({ api: make("2/30d") }, { startMs: Date.UTC(2026, 0, 15) });
    expect(limiter.checkSync("api", "k", { cost: 2 }).allowed).toBe(true);
    clock.set(clock.now() / 1000 + 1_000);
    const { allowed, retryAfterMs } = limiter.checkSync("api", "k");
    expect(allowed).toBe(false);
    clock.set(clock.now() / 1000 + retryAfterMs - 0.001);
    expect(limiter.checkSync("api", "k").allowed).toBe(false);
    clock.set(clock.now() / 1000 + 0.001);
    expect(limiter.checkSync("api", "k").allowed).toBe(true);
  });

  it("admits the first request of a limit of 1", () => {
    const { limiter } = testLimiter({ api: make("1/m") });
    expect(limiter.checkSync("api", "k").allowed).toBe(true);
    expect(limiter.checkSync("api", "k").allowed).toBe(false);
  });

  it("counts more than one request in a tick", () => {
    const { limiter } = testLimiter({ api: make("2000/s") });
    let admitted = 0;
    for (let i = 0; i < 5_000; i += 1) if (limiter.checkSync("api", "k").allowed) admitted += 1;
    expect(admitted).toBe(2_000);
  });

  it("mints no quota by a clock that flaps", () => {
    const { limiter, clock } = testLimiter({ api: make("5/h") }, { startMs: Date.UTC(2026, 0, 1, 12, 30) });
    let admitted = 0;
    for (let i = 0; i < 100; i += 1) {
      clock.set(Date.UTC(2026, 0, 1, i % 2 === 0 ? 12 : 11, 30));
      if (limiter.checkSync("api", "k").allowed) admitted += 1;
    }
    expect(admitted).toBe(5);
  });
});
