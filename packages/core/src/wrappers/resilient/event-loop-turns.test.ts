import { describe, expect, it } from "vitest";
import { type Answer, fixedWindow, rateLimiter, resilient, type Store, StoreError } from "../../index.ts";

describe("a loop that awaits nothing but checks", () => {
  it("does not keep the event loop from turning while the store fails, and so finds it back", async () => {
    let isBack = false;
    const store: Store = {
      // Like any store across a network: its answers come with the event loop.
      apply: (_action, operations) =>
        new Promise((resolve, reject) => {
          setImmediate(() => {
            if (!isBack) return reject(new StoreError("HG_STORE_UNREACHABLE", "is gone"));
            resolve(operations.map(() => ({ ...ANSWER })));
          });
        }),
    };
    const limiter = rateLimiter(
      { api: fixedWindow("1000000000/s") },
      { store: resilient(store, { onDegraded: () => {}, breaker: { failures: 1, retryMs: 50 } }) },
    );
    await limiter.check("api", "k");
    setTimeout(() => {
      isBack = true;
    }, 20);
    let decision = await limiter.check("api", "k");
    expect(decision.source).toBe("fallback");
    while (decision.source === "fallback") decision = await limiter.check("api", "k");
    expect(decision).toMatchObject({ source: "store", degraded: false });
  });
});

const ANSWER: Answer = {
  time: 1_700_000_000_000_000,
  allowed: true,
  remaining: 1,
  retryAfter: 0,
  resetAfter: 0,
  source: "store",
  degraded: false,
};
