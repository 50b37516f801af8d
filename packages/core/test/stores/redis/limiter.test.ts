import { eventually } from "headgate-testkit/eventually";
import { describe, expect, it, vi } from "vitest";
import { bucketedWindow, gcra, leakyBucket, rateLimiter, slidingWindowLog, tokenBucket } from "../../../src/index.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { useRedis } from "./redis.ts";

const redis = useRedis();
const rules = {
  api: tokenBucket("10/d"),
  login: slidingWindowLog("3/d"),
  upload: bucketedWindow("5/d"),
  mail: leakyBucket("100/s", { burst: 3 }),
};

describe("a limiter over Redis", () => {
  it("checks, peeks, refunds, penalizes and resets", async () => {
    const limiter = rateLimiter(rules, { store: redis.store() });
    const first = await limiter.check("login", "ann", { cost: 2 });
    expect(first).toMatchObject({ allowed: true, rule: "login", remaining: 1, source: "store", degraded: false });
    const denied = await limiter.check("login", "ann", { cost: 2 });
    expect(denied).toMatchObject({ allowed: false, remaining: 1, deniedBy: ["login"] });
    expect(denied.retryAfterMs).toBeGreaterThan(86_000_000);
    expect(await limiter.peek("login", "ann", { cost: 1 })).toMatchObject({ allowed: true, remaining: 1 });
    expect(await limiter.refund("login", "ann", { cost: 1 })).toMatchObject({ remaining: 2 });
    expect(await limiter.penalize("login", "ann", { cost: 5 })).toMatchObject({ allowed: false, remaining: 0 });
    expect(await limiter.reset("login", "ann")).toMatchObject({ allowed: true, remaining: 3, resetAfterMs: 0 });
  });

  it("repeats a decision that version 0.1 recorded, which kept no time of it", async () => {
    const prefix = redis.newPrefix();
    const clock = new ManualClock(1_700_000_000_123.457);
    const store = redis.store({ prefix, clock });
    const limiter = rateLimiter(rules, { store });
    const once = { cost: 2, idempotencyKey: "once" };
    const first = await limiter.check("login", "ann", once);
    const record = `${prefix}:{ann}:once:idempotency`;
    const value = await redis.client.getBuffer(record);
    if (value === null) throw new Error("there is no record");
    const [fingerprint, until, answers] = [value.subarray(0, 43), value.subarray(43, 51), value.subarray(59)];
    await redis.client.set(record, Buffer.concat([fingerprint, until, answers]), "PX", 60_000);
    await clock.advance(1_000);
    const again = await limiter.check("login", "ann", once);
    expect(again).toEqual(first);
    expect([again.timeMs, again.resetAtMs]).toEqual([first.timeMs, first.resetAtMs]);
    await redis.client.set(record, value.subarray(0, 50));
    await expect(limiter.check("login", "ann", once)).rejects.toMatchObject({ code: "HG_STORE_REFUSED" });
  });

  it("checks several rules as one request, charged to all or to none", async () => {
    const limiter = rateLimiter(rules, { store: redis.store() });
    const both = [
      { rule: "login", key: "ann", cost: 2 },
      { rule: "upload", key: "ann", cost: 1 },
    ] as const;
    expect(await limiter.checkAll(both)).toMatchObject({ allowed: true });
    expect(await limiter.checkAll(both)).toMatchObject({ allowed: false, deniedBy: ["login"] });
    expect((await limiter.peek("upload", "ann")).remaining).toBe(4);
  });

  it("checks many keys at once, and answers in their order", async () => {
    const limiter = rateLimiter(rules, { store: redis.store() });
    await limiter.check("upload", "b", { cost: 5 });
    const decisions = await limiter.checkMany("upload", ["a", "b", "c", "a"]);
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 4],
      [false, 0],
      [true, 4],
      [true, 3],
    ]);
  });

  it("is one limiter with all others on the same prefix", async () => {
    const prefix = redis.newPrefix();
    const other = await redis.connect();
    const here = rateLimiter(rules, { store: redis.store({ prefix }) });
    const there = rateLimiter(rules, { store: redis.store({ prefix }, other) });
    await here.check("login", "ann", { cost: 3 });
    expect(await there.check("login", "ann")).toMatchObject({ allowed: false });
    here.setLimit("login", slidingWindowLog("4/d"));
    expect(await here.check("login", "ann")).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("charges a request once that is sent twice under one idempotency key", async () => {
    const limiter = rateLimiter(rules, { store: redis.store() });
    const [first, second] = await Promise.all([
      limiter.check("login", "ann", { idempotencyKey: "r1" }),
      limiter.check("login", "ann", { idempotencyKey: "r1" }),
    ]);
    expect(second).toEqual(first);
    expect((await limiter.peek("login", "ann")).remaining).toBe(2);
  });

  it("waits as long as Redis's denial says, and no longer", async () => {
    const store = redis.store();
    const limiter = rateLimiter({ api: gcra("20/s", { burst: 1 }), rare: gcra("1/d") }, { store });
    await limiter.check("api", "ann");
    const started = performance.now();
    expect(await limiter.wait("api", "ann")).toMatchObject({ allowed: true });
    expect(performance.now() - started).toBeGreaterThan(40);
    await limiter.check("rare", "ann");
    expect(await limiter.wait("rare", "ann", { maxWaitMs: 1 })).toMatchObject({ allowed: false });
  });

  it("lets scheduled tasks out at a constant rate, by a clock of the test's own", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const sleep = vi.spyOn(clock, "sleep");
    const store = redis.store({ clock });
    const limiter = rateLimiter(rules, { store, clock });
    const ranAt: number[] = [];
    const tasks = Array.from({ length: 4 }, () =>
      limiter.schedule("mail", "ann", () => ranAt.push(clock.now() - 1_700_000_000_000_000), { whenFull: "drop" }),
    );
    // The tasks wait for Redis before they wait for the clock.
    await eventually("two tasks wait for the clock", async () => sleep.mock.calls.length === 2);
    await clock.advance(100);
    expect((await Promise.all(tasks)).map(({ ran }) => ran)).toEqual([true, true, true, false]);
    expect(ranAt).toEqual([0, 10_000, 20_000]);
  });
});
