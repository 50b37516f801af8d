import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { type TestRequest, testAdapter } from "../../test/middleware/request.ts";
import { ann, bob, gateOf, headersOf, now, passed, refused, rules } from "../../test/middleware/test-middleware.ts";
import { SharedStore } from "../../test/reservations/fake-journal.ts";
import { fixedWindow, type Limiter, rateLimiter } from "../index.ts";
import type { OnDecision } from "../limiter/on-decision.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import type { MiddlewareOptions } from "./middleware-options.ts";

describe("a gate over memory", () => {
  it("answers without a promise, and reports the limit", () => {
    const { gate } = gateOf({ rules: "api" });
    const admission = passed(now(gate.admit(ann)));
    expect(headersOf(admission)).toEqual({ "RateLimit-Policy": '"api";q=2;w=60', RateLimit: '"api";r=1;t=60' });
    expect(admission.decided).toMatchObject({ allowed: true, remaining: 1 });
  });

  it("needs only the names of its rules", () => {
    const { limiter } = testLimiter(rules);
    expect(now(new RateLimitMiddleware(limiter, "api", testAdapter).admit(ann)).headers[0].value).toBe(
      '"api";q=2;w=60',
    );
    expect(now(new RateLimitMiddleware(limiter, ["api", "day"], testAdapter).admit(bob)).headers[0].value).toBe(
      '"api";q=2;w=60, "day";q=10;w=86400',
    );
  });

  it("denies with a 429, a problem, and the time to retry", () => {
    const { gate } = gateOf({ rules: "api" });
    gate.admit(ann);
    gate.admit(ann);
    const refusal = refused(now(gate.admit(ann)));
    expect(refusal.status).toBe(429);
    expect(headersOf(refusal)).toEqual({
      "RateLimit-Policy": '"api";q=2;w=60',
      RateLimit: '"api";r=0;t=60',
      "Retry-After": "60",
      "Headgate-State": 'throttled;policy="api"',
      "Content-Type": "application/problem+json",
    });
    expect(JSON.parse(refusal.body)).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Quota exceeded",
      status: 429,
      "violated-policies": ["api"],
    });
    expect(refusal.deniedBy).toEqual(["api"]);
  });

  it("counts each client on its own, and lets it pass again in time", async () => {
    const { gate, clock } = gateOf({ rules: "api" });
    for (const allowed of [true, true, false]) expect(now(gate.admit(ann)).allowed).toBe(allowed);
    expect(now(gate.admit(bob)).allowed).toBe(true);
    await clock.advance(60_000);
    expect(now(gate.admit(ann)).allowed).toBe(true);
  });

  it("writes the headers of a limit that was changed", () => {
    const { gate, limiter } = gateOf({ rules: "api" });
    gate.admit(ann);
    limiter.setLimit("api", fixedWindow("50/h"));
    expect(headersOf(now(gate.admit(ann)))["RateLimit-Policy"]).toBe('"api";q=50;w=3600');
  });

  it("names a rule in the problem as the headers do", () => {
    const { limiter } = testLimiter({ "tägl\n": fixedWindow("1/d") });
    const gate = new RateLimitMiddleware(limiter, { rules: "tägl\n", proxies: 0 }, testAdapter);
    gate.admit(ann);
    const refusal = refused(now(gate.admit(ann)));
    expect(JSON.parse(refusal.body)["violated-policies"]).toEqual(["t%C3%A4gl%0A"]);
    expect(headersOf(refusal)).toMatchObject({ RateLimit: expect.stringMatching(/^"t%C3%A4gl%0A";r=0/) });
  });

  it("sends the configured headers, or only Retry-After", () => {
    const legacy = gateOf({ rules: "api", headers: ["draft-7", "legacy-epoch"] }).gate;
    expect(headersOf(now(legacy.admit(ann)))).toMatchObject({
      RateLimit: "limit=2, remaining=1, reset=60",
      "X-RateLimit-Reset": "60060",
    });
    const silent = gateOf({ rules: "api", headers: false, warn: false }).gate;
    expect(headersOf(now(silent.admit(ann)))).toEqual({});
    silent.admit(ann);
    expect(Object.keys(headersOf(now(silent.admit(ann))))).toEqual(["Retry-After", "Content-Type"]);
  });
});

describe("several limits", () => {
  it("are charged together or not at all, and all reported", () => {
    const { gate, limiter } = gateOf({ rules: ["api", { rule: "day", cost: 4 }] });
    expect(headersOf(now(gate.admit(ann)))).toMatchObject({ RateLimit: '"api";r=1;t=60, "day";r=6;t=34560' });
    expect(now(gate.admit(ann)).allowed).toBe(true);
    const refusal = refused(now(gate.admit(ann)));
    expect(refusal.deniedBy).toEqual(["api", "day"]);
    expect(JSON.parse(refusal.body)["violated-policies"]).toEqual(["api", "day"]);
    expect(limiter.peekSync("day", "ip:1.2.3.4").remaining).toBe(2);
  });

  it("name only those that refused", () => {
    const { gate, limiter } = gateOf({ rules: ["api", "day"] });
    limiter.penalizeSync("day", "ip:1.2.3.4", { cost: 10 });
    expect(JSON.parse(refused(now(gate.admit(ann))).body)["violated-policies"]).toEqual(["day"]);
    expect(limiter.peekSync("api", "ip:1.2.3.4").remaining).toBe(2);
  });

  it("may count by different keys", () => {
    const { gate, limiter } = gateOf({ rules: [{ rule: "api", by: "user" }, "day"] });
    gate.admit({ ...ann, user: "u1" });
    gate.admit({ ...ann, user: "u2" });
    expect(limiter.peekSync("api", "user:u1").remaining).toBe(1);
    expect(limiter.peekSync("day", "ip:1.2.3.4").remaining).toBe(8);
  });
});

describe("the cost of a request", () => {
  it("is a number or a function, with or without a promise", async () => {
    const five = gateOf({ rules: "day", cost: 5 });
    five.gate.admit(ann);
    expect(five.limiter.peekSync("day", "ip:1.2.3.4").remaining).toBe(5);
    const own = gateOf({ rules: "day", cost: ({ cost = 1 }) => cost });
    own.gate.admit({ ...ann, cost: 3 });
    expect(own.limiter.peekSync("day", "ip:1.2.3.4").remaining).toBe(7);
    const later = gateOf({ rules: "day", cost: async () => 2 });
    await later.gate.admit(ann);
    expect(later.limiter.peekSync("day", "ip:1.2.3.4").remaining).toBe(8);
  });

  describe.each([
    ["cost", { rules: "day", cost: ({ cost }) => cost as number }],
    ["cost", { rules: ["day", "burst"], cost: async ({ cost }) => cost as number }],
    ["reserve", { rules: { rule: "day", reserve: ({ cost }) => cost as number } }],
  ] satisfies [string, MiddlewareOptions<keyof typeof rules, TestRequest>][])(
    "that the %s of %j says",
    (field, options) => {
      // A client that could leave it out would pay 1.
      it.each([Number.NaN, -1, 1.5, "1", undefined, null])(
        "to be %s is a mistake, and goes through to the program; nothing is charged",
        async (cost) => {
          const { gate, limiter } = gateOf(options);
          const problem = expect.objectContaining({ code: "HG_BAD_COST", field });
          await expect(async () => gate.admit({ ...ann, cost: cost as number })).rejects.toThrow(problem);
          expect(limiter.peekSync("day", "ip:1.2.3.4").remaining).toBe(10);
        },
      );
    },
  );

  it("of more than a limit holds is denied, without a time to retry", () => {
    const { gate } = gateOf({ rules: "day", cost: () => 11 });
    const refusal = refused(now(gate.admit(ann)));
    expect(refusal.status).toBe(429);
    expect(headersOf(refusal)).not.toHaveProperty("Retry-After");
  });
});

describe("a request that is skipped", () => {
  it("passes, uncounted and untold", async () => {
    for (const skip of [() => true, async () => true]) {
      const { gate, limiter } = gateOf({ rules: "api", skip });
      const admission = passed(await gate.admit(ann));
      expect(admission.headers).toEqual([]);
      expect(admission.decided).toBeUndefined();
      expect(limiter.peekSync("api", "ip:1.2.3.4").remaining).toBe(2);
    }
  });

  it("is only one for which the function returns true", async () => {
    const { gate } = gateOf({ rules: "api", skip: async ({ user }) => user === "root" });
    expect((await gate.admit(ann)).decided).toBeDefined();
    expect((await gate.admit({ ...ann, user: "root" })).decided).toBeUndefined();
  });

  it("is a mistake if the function throws", () => {
    const { gate } = gateOf({
      rules: "api",
      skip: () => {
        throw new TypeError("no session");
      },
    });
    expect(() => gate.admit(ann)).toThrow("no session");
  });
});

describe("a gate over a store elsewhere", () => {
  it("answers by a promise, the same", async () => {
    const clock = new ManualClock(60_000_000);
    const store = new SlowStore(clock);
    const limiter: Limiter<typeof rules> = rateLimiter(rules, { store, clock });
    const gate = new RateLimitMiddleware(limiter, { rules: ["api", "day"], proxies: 0, clock }, testAdapter);
    expect(headersOf(await gate.admit(ann))).toMatchObject({ RateLimit: '"api";r=1;t=60, "day";r=9;t=8640' });
    expect(store.calls).toHaveLength(1);
    await gate.admit(ann);
    expect(refused(await gate.admit(ann)).deniedBy).toEqual(["api"]);
  });
});

describe("the warning", () => {
  it("comes over 80 % and stays until below 70 %", () => {
    const { limiter, clock } = testLimiter({ api: fixedWindow("100/m") });
    const gate = new RateLimitMiddleware(
      limiter,
      { rules: "api", cost: (r) => r.cost ?? 1, clock, proxies: 0 },
      testAdapter,
    );
    const state = (cost: number) => headersOf(now(gate.admit({ ...ann, cost })))["Headgate-State"];
    expect(state(80)).toBeUndefined();
    expect(state(1)).toBe('warning;policy="api"');
    limiter.refundSync("api", "ip:1.2.3.4", { cost: 6 });
    expect(state(0)).toBe('warning;policy="api"');
    limiter.refundSync("api", "ip:1.2.3.4", { cost: 6 });
    expect(state(0)).toBeUndefined();
    expect(state(31)).toBe('throttled;policy="api"');
  });

  it("can be had at other shares, or not at all", () => {
    const early = gateOf({ rules: "day", warn: { above: 0, below: 0 } }).gate;
    expect(headersOf(now(early.admit(ann)))["Headgate-State"]).toBe('warning;policy="day"');
    const never = gateOf({ rules: "day", warn: false, cost: 10 }).gate;
    expect(headersOf(now(never.admit(ann)))).not.toHaveProperty("Headgate-State");
  });

  it("is given for the quota of the burst", () => {
    const { gate } = gateOf({ rules: "burst", cost: 4, warn: { above: 0.79, below: 0.5 } });
    expect(headersOf(now(gate.admit(ann)))["Headgate-State"]).toBe('warning;policy="burst"');
  });
});

describe("onDecision of the limiter", () => {
  const reserving = { rules: ["api", { rule: "day", reserve: 4 }] } as const;

  it.each<[string, MiddlewareOptions<keyof typeof rules, TestRequest>, readonly string[]]>([
    ["one rule", { rules: "api" }, ["api ip:1.2.3.4 1"]],
    ["several", { rules: ["api", "day"] }, ["api ip:1.2.3.4 1", "day ip:1.2.3.4 1"]],
    ["a reservation", reserving, ["api ip:1.2.3.4 1", "day ip:1.2.3.4 4"]],
  ])("is called for what the middleware asked, once: %s", async (_what, options, expected) => {
    for (const shared of [false, true]) {
      const told: string[] = [];
      const onDecision: OnDecision = ({ rule, cost }, { key }) => void told.push(`${rule} ${key} ${cost}`);
      const clock = new ManualClock(60_000_000);
      // A store with a journal, in which reservations are written down.
      const limiter = shared
        ? rateLimiter(rules, { store: new SharedStore(clock), clock, onDecision })
        : rateLimiter(rules, { clock, onDecision });
      const gate = new RateLimitMiddleware(limiter, { proxies: 0, clock, ...options }, testAdapter);
      expect((await gate.admit({ ...ann })).allowed).toBe(true);
      expect(told).toEqual(expected);
    }
  });
});
