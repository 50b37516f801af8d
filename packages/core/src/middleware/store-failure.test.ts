import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { type TestRequest, testAdapter } from "../../test/middleware/request.ts";
import { ann, headersOf, passed, refused, rules } from "../../test/middleware/test-middleware.ts";
import { type Answer, rateLimiter, type Store, StoreError } from "../index.ts";
import { ManualClock } from "../testing/index.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import type { MiddlewareOptions } from "./middleware-options.ts";
import type { Notice } from "./notices.ts";

const gone = new StoreError("HG_STORE_UNREACHABLE", "refused the connection");

function gateOver(store: Store, options: Partial<MiddlewareOptions<keyof typeof rules, TestRequest>> = {}) {
  const clock = new ManualClock();
  const notices: Notice[] = [];
  const onNotice = (notice: Notice) => notices.push(notice);
  const limiter = rateLimiter(rules, { store, clock });
  return {
    gate: new RateLimitMiddleware(
      limiter,
      { rules: ["api", "day"], proxies: 0, clock, onNotice, ...options },
      testAdapter,
    ),
    notices,
  };
}

function failing(error: Error): SlowStore {
  const store = new SlowStore(new ManualClock());
  store.failure = error;
  return store;
}

describe("a store that fails", () => {
  it("admits requests without a limit, and reports that once with the reason", async () => {
    const { gate, notices } = gateOver(failing(gone));
    for (let i = 0; i < 5; i += 1) {
      const admission = passed(await gate.admit(ann));
      expect(admission.headers).toEqual([]);
      expect(admission.decided).toBeUndefined();
    }
    expect(notices).toEqual([{ code: "HG_STORE_IGNORED", message: expect.stringContaining("resilient"), cause: gone }]);
  });

  it("leaves nothing to settle after a reservation was requested, which is not an error of the handler", async () => {
    const { gate } = gateOver(failing(gone), { rules: { rule: "day", reserve: 5 } });
    const { settle } = passed(await gate.admit({ ...ann }));
    await settle(3);
    await expect(settle(-3)).rejects.toThrow(expect.objectContaining({ code: "HG_BAD_COST" }));
  });

  it("makes a 503 of them where that is wanted", async () => {
    const { gate, notices } = gateOver(failing(gone), { onStoreFailure: "deny" });
    const refusal = refused(await gate.admit(ann));
    expect(refusal.status).toBe(503);
    expect(JSON.parse(refusal.body)).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      "violated-policies": ["api", "day"],
    });
    expect(notices).toEqual([]);
  });

  it.each([
    ["another's store", new Error("ECONNRESET")],
    ["a store of another copy of the library", Object.assign(new Error("gone"), { code: "HG_STORE_TIMEOUT" })],
  ])("may be %s", async (_name, error) => {
    const { gate, notices } = gateOver(failing(error));
    expect((await gate.admit(ann)).allowed).toBe(true);
    expect(notices[0].cause).toBe(error);
  });

  it("is distinguished from a caller's error, which is thrown", async () => {
    const { gate, notices } = gateOver(failing(gone), { cost: () => 1.5 });
    await expect(async () => gate.admit(ann)).rejects.toThrow(expect.objectContaining({ code: "HG_BAD_COST" }));
    expect(notices).toEqual([]);
  });
});

describe("a fallback of a store", () => {
  const answer = (allowed: boolean, source: "fallback" | "cache"): Answer => ({
    time: 1_700_000_000_000_000,
    allowed,
    remaining: 0,
    retryAfter: allowed ? 0 : 2_000_000,
    resetAfter: 2_000_000,
    source,
    degraded: true,
  });

  it("denies with a 503, because the client may be within its quota", async () => {
    const store: Store = { apply: (_action, operations) => operations.map(() => answer(false, "fallback")) };
    const refusal = refused(await gateOver(store).gate.admit(ann));
    expect(refusal.status).toBe(503);
    expect(JSON.parse(refusal.body).status).toBe(503);
    expect(headersOf(refusal)["Retry-After"]).toBe("2");
  });

  it("passes requests with the headers that it has", async () => {
    const store: Store = { apply: (_action, operations) => operations.map(() => answer(true, "fallback")) };
    const admission = passed(await gateOver(store).gate.admit(ann));
    expect(admission.decided).toMatchObject({ degraded: true });
    expect(headersOf(admission)).toMatchObject({ RateLimit: '"api";r=0;t=2, "day";r=0;t=2' });
  });

  it("refuses with a 429 what a cache knows to be over its limit", async () => {
    const store: Store = { apply: (_action, operations) => operations.map(() => answer(false, "cache")) };
    expect(refused(await gateOver(store).gate.admit(ann)).status).toBe(429);
  });
});
