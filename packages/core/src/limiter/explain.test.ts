import { describe, expect, it } from "vitest";
import {
  bucketedWindow,
  concurrency,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  MemoryStore,
  slidingWindow,
  tokenBucket,
} from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";
import { decide } from "./decide.ts";

const rules = {
  api: gcra("10/s", { burst: 5 }),
  login: slidingWindow("5/15m"),
  day: fixedWindow("1000/d"),
  month: fixedWindow("10/30d"),
  mail: leakyBucket("2/m"),
  file: tokenBucket("3/s"),
  burst: bucketedWindow("10/250ms"),
};

describe("explain", () => {
  it("reports which limit decided, its state, and when the request would pass", () => {
    const { limiter } = testLimiter(rules);
    limiter.checkSync("api", "k", { cost: 4 });
    const { toString: _sentence, ...fields } = limiter.checkSync("api", "k", { cost: 3 }).explain();
    expect(fields).toEqual({
      rule: "api",
      algorithm: "gcra",
      limit: 10,
      windowMs: 1_000,
      burst: 5,
      cost: 3,
      allowed: false,
      used: 4,
      remaining: 1,
      passesInMs: 200,
      fullInMs: 400,
    });
  });

  it("names the calendar that windows follow", () => {
    const budget = fixedWindow("10/month", { timeZone: "Europe/Berlin", anchorDay: 15 });
    const { limiter } = testLimiter({ budget }, { startMs: Date.parse("2026-11-15T23:00Z") });
    const explanation = limiter.checkSync("budget", "k").explain();
    expect(explanation).toMatchObject({
      windowMs: 30 * 86_400_000,
      calendar: "month from day 15 in Europe/Berlin",
      fullInMs: 29 * 86_400_000,
    });
    expect(String(explanation)).toBe(
      "budget (fixed_window, 10 per month from day 15 in Europe/Berlin); allowed a cost of 1; 9 of 10 left; full again in 29 days",
    );
  });

  it("reports that a request passed", () => {
    const { limiter } = testLimiter(rules);
    expect(limiter.checkSync("login", "k").explain()).toMatchObject({ allowed: true, used: 1, passesInMs: 0 });
  });

  it("reports null if a request can never pass", () => {
    const { limiter } = testLimiter(rules);
    expect(limiter.checkSync("api", "k", { cost: 6 }).explain().passesInMs).toBeNull();
  });

  it("contains the same information as JSON", () => {
    const { limiter } = testLimiter(rules);
    const explanation = limiter.checkSync("api", "k", { cost: 6 }).explain();
    expect(JSON.parse(JSON.stringify(explanation))).toMatchObject({ rule: "api", used: 0, passesInMs: null });
  });

  it.each<[string, keyof typeof rules, number, number, string]>([
    [
      "an admitted request",
      "api",
      0,
      2,
      "api (gcra, 10 per 1 s, burst 5); allowed a cost of 2; 3 of 5 left; full again in 200 ms",
    ],
    [
      "a refused one",
      "api",
      4,
      3,
      "api (gcra, 10 per 1 s, burst 5); denied a cost of 3; 1 of 5 left; would be allowed in 200 ms; full again in 400 ms",
    ],
    [
      "one that never passes",
      "api",
      0,
      6,
      "api (gcra, 10 per 1 s, burst 5); denied a cost of 6; 5 of 5 left; can never be allowed: it costs more than the limit holds; full",
    ],
    [
      "a look without a cost",
      "day",
      0,
      0,
      "day (fixed_window, 1000 per 24 h); allowed a cost of 0; 1000 of 1000 left; full",
    ],
    [
      "minutes",
      "login",
      0,
      1,
      "login (sliding_window_counter, 5 per 15 min); allowed a cost of 1; 4 of 5 left; full again in 30 min",
    ],
    [
      "hours",
      "day",
      0,
      1,
      "day (fixed_window, 1000 per 24 h); allowed a cost of 1; 999 of 1000 left; full again in 24 h",
    ],
    [
      "days",
      "month",
      0,
      1,
      "month (fixed_window, 10 per 30 days); allowed a cost of 1; 9 of 10 left; full again in 30 days",
    ],
    [
      "half minutes",
      "mail",
      0,
      1,
      "mail (leaky_bucket, 2 per 60 s); allowed a cost of 1; 1 of 2 left; full again in 30 s",
    ],
    [
      "milliseconds",
      "burst",
      0,
      1,
      "burst (bucketed_window, 10 per 250 ms); allowed a cost of 1; 9 of 10 left; full again in 250 ms",
    ],
  ])("says it in a sentence: %s", (_what, rule, before, cost, sentence) => {
    const { limiter } = testLimiter(rules);
    limiter.checkSync(rule, "k", { cost: before });
    expect(String(limiter.checkSync(rule, "k", { cost }).explain())).toBe(sentence);
  });

  it("rounds fractions for the eye, to three digits", async () => {
    const { limiter, clock } = testLimiter(rules);
    limiter.checkSync("file", "k", { cost: 3 });
    await clock.advance(100.1);
    expect(String(limiter.peekSync("file", "k").explain())).toBe(
      "file (token_bucket, 3 per 1 s); denied a cost of 1; 0.3 of 3 left; would be allowed in 233.234 ms; full again in 899.9 ms",
    );
  });
});

describe("explain, of a concurrency limit", () => {
  const rule = { name: "jobs", limit: concurrency(2) };

  function take(store: MemoryStore, id: string, cost = 1): Decision {
    const slot = { id, forUs: 12_000_000 };
    return decide(store, "take", [{ rule, key: "k", cost, slot }]).deciding;
  }

  it("reports how many slots are in use, and when one is free at the latest", async () => {
    const clock = new ManualClock();
    const store = new MemoryStore({ clock });
    const first = take(store, "a");
    expect(first).toMatchObject({ allowed: true, remaining: 1, inUse: 1, retryIsUpperBound: false });
    expect(String(first.explain())).toBe("jobs (concurrency, 2 slots); allowed a cost of 1; 1 of 2 in use");
    await clock.advance(2_000);
    take(store, "b");
    const denied = take(store, "c");
    expect(denied).toMatchObject({ inUse: 2, retryAfterMs: 10_000, retryIsUpperBound: true });
    expect(denied.explain()).toMatchObject({ used: 2, inUse: 2, passesInMs: 10_000, passesInIsUpperBound: true });
    expect(String(denied.explain())).toBe(
      "jobs (concurrency, 2 slots); denied a cost of 1; 2 of 2 in use; would be allowed in 10 s at most",
    );
    expect(String(take(store, "d", 3).explain())).toBe(
      "jobs (concurrency, 2 slots); denied a cost of 3; 2 of 2 in use; can never be allowed: it costs more than the limit holds",
    );
  });

  it("is silent about slots elsewhere", () => {
    const decision = testLimiter(rules).limiter.checkSync("api", "k");
    expect(decision).toMatchObject({ inUse: undefined, retryIsUpperBound: false });
    expect(decision.explain()).not.toHaveProperty("inUse");
  });
});
