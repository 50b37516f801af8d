import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { subjects } from "../../../test/stores/conformance/subjects.ts";
import { context, giveUp, operation, rule } from "../../../test/wrappers/resilient/context.ts";
import {
  bucketedWindow,
  fixedWindow,
  gcra,
  type Limit,
  leakyBucket,
  limitFromSpec,
  rateLimiter,
  resilient,
  slidingWindow,
  slidingWindowLog,
  tokenBucket,
} from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import { shareOf } from "./node-share.ts";

const SECOND = 1_000_000;

describe("the share of a limit", () => {
  it("is the limit itself for one process", () => {
    const limit = tokenBucket("7/m");
    expect(shareOf(limit, 1)).toBe(limit);
  });

  it.each([
    [tokenBucket("100/m"), 4, { limit: 25, burst: 25, window: 60 * SECOND }],
    [tokenBucket("100/m", { burst: 10 }), 4, { limit: 25, burst: 2, window: 60 * SECOND }],
    [gcra("10/s"), 3, { limit: 3, burst: 3, window: SECOND }],
    // No process can hold less than one unit.
    [gcra("100/s", { burst: 2 }), 4, { limit: 25, burst: 1, window: SECOND }],
    // Less than one unit for each: one unit in a window so much longer.
    [fixedWindow("3/s"), 4, { limit: 1, burst: 1, window: 1_333_334 }],
    [leakyBucket("1/s", { burst: 100 }), 10, { limit: 1, burst: 10, window: 10 * SECOND }],
    [slidingWindowLog("1/d"), 7, { limit: 1, burst: 1, window: 7 * 86_400 * SECOND }],
  ] as const)("%o for %d is %o", (limit, nodes, share) => {
    expect(shareOf(limit, nodes)).toMatchObject({ algorithm: limit.algorithm, ...share });
  });

  it("keeps the other parameters of the limit", () => {
    expect(shareOf(fixedWindow("10/s", { anchor: "request" }), 2)).toMatchObject({ anchor: "request" });
    expect(shareOf(bucketedWindow("10/s", { bucketWidthMs: 50 }), 20)).toMatchObject({ bucketWidth: 50_000 });
    expect(shareOf(bucketedWindow("10/s", { exact: true }), 2)).toMatchObject({ bucketWidth: 1 });
    const bucket = limitFromSpec({ algorithm: "token_bucket", capacity: 4.5, refill_rate: 0.5 });
    expect(shareOf(bucket, 2)).toMatchObject({ limit: 2, burst: 2, window: 9 * SECOND });
  });

  const limits: fc.Arbitrary<Limit> = fc
    .record({
      limit: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.maxSafeInteger().map(Math.abs).filter(Boolean)),
      windowMs: fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 2 ** 41 })),
      burst: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.maxSafeInteger().map(Math.abs).filter(Boolean)),
    })
    .filter(({ limit, windowMs, burst }) => (burst / limit) * windowMs * 1000 <= 2 ** 51)
    .chain(({ limit, windowMs, burst }) =>
      fc
        .constantFrom<() => Limit>(
          () => tokenBucket({ limit, windowMs }, { burst }),
          () => leakyBucket({ limit, windowMs }, { burst }),
          () => gcra({ limit, windowMs }, { burst }),
          () => fixedWindow({ limit, windowMs }),
          () => slidingWindow({ limit, windowMs }),
          () => slidingWindowLog({ limit, windowMs }),
          () => bucketedWindow({ limit, windowMs }),
        )
        .map((make) => make()),
    );
  const nodes = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1_000_000 }));

  it("can be made of every limit, and is never faster", () => {
    fc.assert(
      fc.property(limits, nodes, (limit, count) => {
        const share = shareOf(limit, count);
        const together = (BigInt(share.limit) * BigInt(count) * BigInt(limit.window)) / BigInt(share.window);
        // Two windows longer than 71 years cannot be told apart.
        if (share.window < 2 ** 51) expect(together <= BigInt(limit.limit)).toBe(true);
        expect(share.burst === 1 || share.burst * count <= limit.burst).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("processes that each enforce their share", () => {
  it("admit at most the limit in an aligned window, if it has a unit for each", async () => {
    const runs = fc.record({
      limit: fc.integer({ min: 1, max: 60 }),
      count: fc.integer({ min: 1, max: 8 }),
      hits: fc.array(
        fc.record({ node: fc.nat(7), ms: fc.integer({ min: 0, max: 400 }), cost: fc.integer({ min: 1, max: 4 }) }),
        { minLength: 40, maxLength: 200 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(runs, async ({ limit, count, hits }) => {
        fc.pre(limit >= count);
        const clock = new ManualClock(1_700_000_000_000);
        const gone = { apply: () => Promise.reject(new Error("gone")) };
        const limiters = Array.from({ length: count }, () => {
          const store = resilient(gone, { clock, nodes: count, onDegraded: () => {} });
          return rateLimiter({ api: fixedWindow({ limit, windowMs: 1_000 }) }, { store, clock });
        });
        const admitted = new Map<number, number>();
        for (const { node, ms, cost } of hits) {
          await clock.advance(ms);
          const { allowed } = await limiters[node % count].check("api", "k", { cost });
          const window = Math.floor(clock.now() / SECOND);
          if (allowed) admitted.set(window, (admitted.get(window) ?? 0) + cost);
        }
        expect(Math.max(...admitted.values(), 0)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it("admit one each in a longer window if there are fewer units than processes", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const gone = { apply: () => Promise.reject(new Error("gone")) };
    const limiters = Array.from({ length: 4 }, () => {
      const store = resilient(gone, { clock, nodes: 4, onDegraded: () => {} });
      return rateLimiter({ api: gcra("2/s") }, { store, clock });
    });
    let admitted = 0;
    for (let ms = 0; ms < 60_000; ms += 50) {
      for (const limiter of limiters) if ((await limiter.check("api", "k")).allowed) admitted += 1;
      await clock.advance(50);
    }
    // Four at once, each two seconds.
    expect(admitted).toBe(120);
  });
});

describe("a cost that is more than the share, but not than the limit", () => {
  it("is denied, and may pass when the store is asked again", async () => {
    const scene = context({ nodes: 4 });
    await giveUp(scene);
    expect(await scene.take("k", 3)).toMatchObject({ allowed: false, retryAfter: 250_000 });
    expect(await scene.take("k", 11)).toMatchObject({ allowed: false, retryAfter: Number.POSITIVE_INFINITY });
    expect(await scene.take("k", 2)).toMatchObject({ allowed: true });
  });
});

describe("a queue that is shared out", () => {
  it("lets tasks leave as much slower as there are processes", async () => {
    const scene = context({ nodes: 5 });
    await giveUp(scene);
    const limiter = rateLimiter(
      { mail: leakyBucket("10/s", { burst: 50 }) },
      { store: scene.store, clock: scene.clock },
    );
    const delays: number[] = [];
    for (let i = 0; i < 10; i += 1) delays.push((await limiter.check("mail", "k")).delayMs);
    const gaps = delays.slice(1).map((delay, i) => delay - delays[i]);
    // One each half second, and ten fit in this process's queue.
    for (const gap of gaps) expect(gap).toBeCloseTo(500, 6);
    expect(await limiter.check("mail", "k")).toMatchObject({ allowed: false, retryAfterMs: 500 });
    expect(delays[0]).toBeLessThanOrEqual(400);
  });

  it("never reports less than zero places if the shares do not divide evenly", async () => {
    const scene = context({ nodes: 4 });
    await giveUp(scene);
    const mail = rule("mail", leakyBucket("7/s", { burst: 8 }));
    expect(await scene.ask("take", operation(mail, "k", 2))).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("frees the place of a task that leaves, if none is behind it", async () => {
    const scene = context({ nodes: 5 });
    await giveUp(scene);
    const limiter = rateLimiter(
      { mail: leakyBucket("10/s", { burst: 50 }) },
      { store: scene.store, clock: scene.clock },
    );
    await limiter.check("mail", "k");
    const left = (await limiter.peek("mail", "k")).remaining;
    const controller = new AbortController();
    const task = limiter.schedule("mail", "k", () => "ran", { signal: controller.signal });
    await scene.clock.advance(0);
    expect((await limiter.peek("mail", "k")).remaining).toBeLessThan(left);
    controller.abort(new Error("enough"));
    await expect(task).rejects.toThrow("enough");
    expect((await limiter.peek("mail", "k")).remaining).toBeCloseTo(left, 6);
  });
});

describe.each(subjects)("$name in an outage", ({ make }) => {
  it("admits its share and no more", async () => {
    const scene = context({ nodes: 2 });
    await giveUp(scene);
    const shared = rule("shared", make({ limit: 10, windowMs: 10_000 }));
    for (let i = 0; i < 5; i += 1) expect(await scene.ask("take", operation(shared))).toMatchObject({ allowed: true });
    const denied = await scene.ask("take", operation(shared));
    expect(denied).toMatchObject({ allowed: false, source: "fallback" });
    await scene.clock.advance(denied.retryAfter / 1000 - 0.001);
    scene.inner.mood = "rejecting";
    expect(await scene.ask("take", operation(shared))).toMatchObject({ allowed: false });
    await scene.clock.advance(0.001);
    expect(await scene.ask("take", operation(shared))).toMatchObject({ allowed: true });
  });
});
