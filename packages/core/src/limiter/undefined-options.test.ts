import { describe, expect, it } from "vitest";
import { testAdapter } from "../../test/middleware/request.ts";
import { ann, now } from "../../test/middleware/test-middleware.ts";
import {
  bucketedWindow,
  cached,
  fixedWindow,
  gcra,
  leakyBucket,
  MemoryStore,
  rateLimiter,
  resilient,
} from "../index.ts";
import { rateLimit } from "../middleware/express-rate-limit.ts";
import { RateLimitMiddleware } from "../middleware/middleware.ts";
import { testLimiter } from "../testing/index.ts";

describe("an option that is undefined means the same as none:", () => {
  it("of limits", () => {
    expect(gcra("5/m", { burst: undefined })).toEqual(gcra("5/m"));
    expect(fixedWindow("5/m", { anchor: undefined })).toEqual(fixedWindow("5/m"));
    const buckets = bucketedWindow("5/m", { bucketWidthMs: undefined, exact: undefined });
    expect(buckets).toEqual(bucketedWindow("5/m"));
  });

  it("of limiters, checks and stores", async () => {
    const rules = { api: fixedWindow("9/m"), mail: leakyBucket("9/s") };
    const memory = { maxKeys: undefined, maxIdempotencyKeys: undefined, clock: undefined, sweep: undefined };
    const { limiter } = testLimiter(rules, {
      maxKeys: undefined,
      sweep: undefined,
      startMs: undefined,
      onDecision: undefined,
    });
    expect(limiter.checkSync("api", "k", { cost: undefined, idempotencyKey: undefined }).remaining).toBe(8);
    await limiter.checkAll([{ rule: "api", key: "k", cost: undefined }], { idempotencyKey: undefined });
    await limiter.wait("api", "k", { cost: undefined, signal: undefined, maxWaitMs: undefined });
    await limiter.schedule("mail", "k", () => 1, { maxWaitMs: undefined, whenFull: undefined });
    expect(limiter.peekSync("api", "k", { cost: undefined }).remaining).toBe(6);
    const store = new MemoryStore(memory);
    const safe = resilient(store, { deadlineMs: undefined, nodes: undefined, onError: "deny", breaker: undefined });
    const ahead = cached(store, { flushMs: undefined, refreshMs: undefined, maxPending: undefined, read: undefined });
    for (const each of [safe, ahead]) {
      const shared = rateLimiter({ [`${each === safe}`]: fixedWindow("9/m") }, { store: each, clock: undefined });
      expect((await shared.check(`${each === safe}`, "k")).remaining).toBe(8);
    }
    await ahead.close?.();
  });

  it("of middleware", () => {
    const { limiter, clock } = testLimiter({ api: fixedWindow("9/m") });
    const options = { by: undefined, cost: undefined, skip: undefined, headers: undefined, warn: undefined };
    const rare = { refundOn: undefined, reserveForMs: undefined, onStoreFailure: undefined, onNotice: undefined };
    const address = { proxies: undefined, forwardedHeader: undefined, ipv6Prefix: undefined };
    const rules = { rule: "api", by: undefined, cost: 3, reserve: undefined } as const;
    const gate = new RateLimitMiddleware(limiter, { rules, ...options, ...rare, ...address, clock }, testAdapter);
    expect(now(gate.admit(ann)).decided).toMatchObject({ cost: 3, remaining: 6 });
  });

  it("of express-rate-limit", () => {
    expect(() =>
      rateLimit({ limit: undefined, windowMs: undefined, store: undefined, logger: undefined }),
    ).not.toThrow();
  });
});
