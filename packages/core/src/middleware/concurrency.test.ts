import { describe, expect, it } from "vitest";
import { type TestRequest, testAdapter } from "../../test/middleware/request.ts";
import { ann, passed, refused } from "../../test/middleware/test-middleware.ts";
import { concurrency, fixedWindow } from "../index.ts";
import { testLimiter } from "../testing/index.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import type { MiddlewareOptions } from "./middleware-options.ts";

const rules = { slots: concurrency(2), api: fixedWindow("3/m"), tokens: fixedWindow("100/d") };
const key = "ip:1.2.3.4";
const ok = { status: 200, aborted: false };
const gone = { status: 200, aborted: true };

function gateOf(options: MiddlewareOptions<keyof typeof rules, TestRequest>) {
  const { limiter, clock } = testLimiter(rules);
  const gate = new RateLimitMiddleware(limiter, { proxies: 0, clock, ...options }, testAdapter);
  const inUse = (): number | undefined => limiter.peekSync("slots", key).inUse;
  const left = (rule: "api" | "tokens"): number => limiter.peekSync(rule, key).remaining;
  return { gate, limiter, clock, inUse, left };
}

describe("middleware with a concurrency limit", () => {
  it.each([
    ["the response has ended", ok],
    ["the client has left", gone],
  ])("gives each request a slot until %s", async (_name, ending) => {
    const { gate, inUse } = gateOf({ concurrency: "slots" });
    expect(gate.watches).toBe(true);
    const [one, two] = [passed(await gate.admit({ ...ann })), passed(await gate.admit({ ...ann }))];
    const denied = refused(await gate.admit({ ...ann }));
    expect(denied).toMatchObject({ status: 429, deniedBy: ["slots"] });
    expect(denied.headers.map(({ name, value }) => `${name}: ${value}`)).toContain(
      'RateLimit-Policy: "slots";q=2;qu="concurrent-requests"',
    );
    await one.ended(ending);
    expect(inUse()).toBe(1);
    passed(await gate.admit({ ...ann }));
    await two.ended(ending);
    expect(inUse()).toBe(1);
  });

  it("decides about slots and rates together", async () => {
    const { gate, inUse, left } = gateOf({ rules: "api", concurrency: { rule: "slots" } });
    const admissions = [passed(await gate.admit({ ...ann })), passed(await gate.admit({ ...ann }))];
    refused(await gate.admit({ ...ann }));
    expect([inUse(), left("api")]).toEqual([2, 1]);
    for (const admission of admissions) await admission.ended(ok);
    passed(await gate.admit({ ...ann }));
    refused(await gate.admit({ ...ann }));
    expect([inUse(), left("api")]).toEqual([1, 0]);
  });

  it("keeps the slot when the handler has settled a cost, and while a response takes long", async () => {
    const { gate, inUse, left, clock } = gateOf({ rules: { rule: "tokens", reserve: 60 }, concurrency: "slots" });
    const admission = passed(await gate.admit({ ...ann }));
    expect([inUse(), left("tokens")]).toEqual([1, 40]);
    await admission.settle(10);
    expect([inUse(), left("tokens")]).toEqual([1, 90]);
    await clock.advance(600_000);
    expect(inUse()).toBe(1);
    await admission.ended(ok);
    expect([inUse(), left("tokens")]).toEqual([0, 90]);
  });

  it("refunds what refundOn says, and returns the slot", async () => {
    const { gate, inUse, left } = gateOf({ rules: "api", concurrency: "slots", refundOn: "5xx" });
    const admission = passed(await gate.admit({ ...ann }));
    await admission.ended({ status: 500, aborted: false });
    expect([inUse(), left("api")]).toEqual([0, 3]);
  });

  it.each<[string, string, MiddlewareOptions<keyof typeof rules, TestRequest>]>([
    ["HG_NEEDS_SLOT", "rules", { rules: "slots" }],
    ["HG_NEEDS_SLOT", "rules[1]", { rules: ["api", "slots"] }],
    ["HG_NOT_CONCURRENT", "concurrency", { concurrency: "api" }],
    ["HG_BAD_OPTION", "concurrency.reserve", { concurrency: { rule: "slots", reserve: 1 } }],
    ["HG_BAD_OPTION", "cost", { concurrency: { rule: "slots", cost: 3 } }],
    ["HG_BAD_OPTION", "concurrency[1]", { concurrency: ["slots", "slots"] }],
    ["HG_BAD_OPTION", "rules", {}],
  ])("rejects with %s at %s", (code, field, options) => {
    expect(() => gateOf(options)).toThrow(expect.objectContaining({ code, field }));
  });
});
