import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { watch } from "../../test/limiter/watched-promise.ts";
import { gcra, leakyBucket, rateLimiter } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const reason = new Error("enough");

describe("a wait that is aborted", () => {
  it("before it began rejects with the reason, and charges nothing", async () => {
    const { limiter } = testLimiter({ api: gcra("2/s") });
    await expect(limiter.wait("api", "k", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(limiter.peekSync("api", "k").remaining).toBe(2);
  });

  it("while it sleeps rejects with the reason, charges nothing, and frees the next call", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    limiter.checkSync("api", "k");
    const controller = new AbortController();
    const first = watch(clock, limiter.wait("api", "k", { signal: controller.signal }));
    const second = watch(clock, limiter.wait("api", "k"));
    await clock.advance(400);
    controller.abort(reason);
    await clock.advance(0);
    expect(first).toMatchObject({ error: reason, at: 400 });
    await clock.advance(600);
    // What the first would have taken is there for the second.
    expect(second).toMatchObject({ at: 1_000, value: { allowed: true } });
  });

  it("while the store is still deciding rejects as soon as it has, and does not wait for its turn", async () => {
    const clock = new ManualClock();
    const limiter = rateLimiter({ api: gcra("1/h") }, { store: new SlowStore(clock, 100), clock });
    watch(clock, limiter.check("api", "k"));
    await clock.advance(100);
    const controller = new AbortController();
    const waiting = watch(clock, limiter.wait("api", "k", { signal: controller.signal }));
    await clock.advance(50);
    controller.abort(reason);
    await clock.advance(50);
    expect(waiting).toMatchObject({ error: reason, at: 200 });
  });

  it("while it is queued rejects at once, and the calls before and after it stay", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    limiter.checkSync("api", "k");
    const controller = new AbortController();
    const first = watch(clock, limiter.wait("api", "k"));
    const second = watch(clock, limiter.wait("api", "k", { signal: controller.signal }));
    const third = watch(clock, limiter.wait("api", "k"));
    await clock.advance(100);
    controller.abort(reason);
    await clock.advance(0);
    expect(second).toMatchObject({ error: reason, at: 100 });
    await clock.advance(5_000);
    expect([first.at, third.at]).toEqual([1_000, 2_000]);
  });

  it("together with others of the same signal rejects them all, and keeps the rest of the queue", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    limiter.checkSync("api", "k");
    const controller = new AbortController();
    const { signal } = controller;
    const leaving = [1, 2, 3].map(() => watch(clock, limiter.wait("api", "k", { signal })));
    const staying = watch(clock, limiter.wait("api", "k"));
    await clock.advance(100);
    controller.abort(reason);
    await clock.advance(5_000);
    expect(leaving.map(({ error, at }) => [error, at])).toEqual([1, 2, 3].map(() => [reason, 100]));
    expect(staying.at).toBe(1_000);
  });

  it("while a leaky bucket delays it returns its place in the queue", async () => {
    const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 3 }) });
    limiter.checkSync("mail", "k");
    const controller = new AbortController();
    const waiting = watch(clock, limiter.wait("mail", "k", { signal: controller.signal }));
    await clock.advance(0);
    expect(limiter.peekSync("mail", "k").remaining).toBe(1);
    controller.abort(reason);
    await clock.advance(0);
    expect(waiting).toMatchObject({ error: reason, at: 0 });
    expect(limiter.peekSync("mail", "k").remaining).toBe(2);
  });

  it.each(["gcra", "leaky_bucket"])("while a store decides returns what it took (%s)", async (kind) => {
    const clock = new ManualClock();
    const api = kind === "gcra" ? gcra("2/h") : leakyBucket("2/h");
    const limiter = rateLimiter({ api }, { store: new SlowStore(clock, 50), clock });
    const controller = new AbortController();
    const waiting = watch(clock, limiter.wait("api", "k", { signal: controller.signal }));
    await clock.advance(20);
    controller.abort(reason);
    await clock.advance(1_000);
    expect(waiting.error).toBe(reason);
    const peeked = limiter.peek("api", "k");
    await clock.advance(1_000);
    expect((await peeked).remaining).toBe(2);
  });

  it("after it was admitted stays admitted", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/s") });
    const controller = new AbortController();
    const waiting = watch(clock, limiter.wait("api", "k", { signal: controller.signal }));
    await clock.advance(0);
    controller.abort(reason);
    expect((await waiting.promise).allowed).toBe(true);
    expect(limiter.peekSync("api", "k").remaining).toBe(0);
  });
});
