import { describe, expect, it } from "vitest";
import { rule } from "../../checks/fixtures.ts";
import { call, check, quota, served } from "./fixtures.ts";
import { Dimension, Source, UsageState } from "./generated/headgate/v1/rate_limiter.ts";

const NOW_S = Date.parse("2026-01-01T00:00:00Z") / 1000;

describe("CheckRateLimit", () => {
  it("answers with the numbers of the limit that decided", async () => {
    const { client, clock } = await served([rule({ limit: 2 })]);
    await clock.advance(100.4);
    expect(await call(client, client.checkRateLimit, check())).toEqual({
      allowed: true,
      currentCount: 1,
      limit: 2,
      remaining: 1,
      resetAt: NOW_S + 60,
      retryAfter: 0,
      resetAtMs: (NOW_S + 60) * 1000,
      retryAfterMs: 0,
      ruleId: "all",
      state: UsageState.USAGE_STATE_NORMAL,
      source: Source.SOURCE_STORE,
      degraded: false,
      skewMs: undefined,
      skewed: false,
      limits: [],
      shadowLimits: [],
      queuePosition: 0,
      delayMs: 0,
      notApplied: [],
    });
  });

  it("names rules that limit concurrent tasks as not applied", async () => {
    const slots = rule({ rule_id: "slots", algorithm: "concurrency", window_seconds: null, limit: 1 });
    const { client } = await served([rule({ limit: 2 }), slots]);
    const notApplied = ["slots"];
    const checked = () => call(client, client.checkRateLimit, check());
    expect(await checked()).toMatchObject({ allowed: true, ruleId: "all", notApplied });
    expect(await checked()).toMatchObject({ allowed: true, notApplied });
    expect(await call(client, client.getRemainingQuota, quota())).toMatchObject({ ruleId: "all", notApplied });
  });

  it("reports the place in the queue of a leaky bucket, and how long to delay the request", async () => {
    const { client } = await served([rule({ algorithm: "leaky_bucket", limit: 60, burst: 5 })]);
    const queue = async (cost: number) => {
      const { queuePosition, delayMs, limits } = await call(
        client,
        client.checkRateLimit,
        check({ cost, withLimits: true }),
      );
      return [queuePosition, delayMs, limits[0].queuePosition, limits[0].delayMs];
    };
    expect([await queue(2), await queue(1), await queue(3)]).toEqual([
      [2, 0, 2, 0],
      [3, 2_000, 3, 2_000],
      [0, 0, 0, 0],
    ]);
  });

  it("answers a denial as a value, with the time to wait in seconds and milliseconds, both rounded up", async () => {
    const { client, clock } = await served([rule({ limit: 1 })]);
    await call(client, client.checkRateLimit, check());
    await clock.advance(100.4);
    expect(await call(client, client.checkRateLimit, check())).toMatchObject({
      allowed: false,
      currentCount: 1,
      remaining: 0,
      retryAfter: 60,
      retryAfterMs: 59_900,
      state: UsageState.USAGE_STATE_THROTTLED,
    });
  });

  it("returns -1 for what can never pass", async () => {
    const { client } = await served();
    expect(await call(client, client.checkRateLimit, check({ cost: 11 }))).toMatchObject({
      allowed: false,
      retryAfter: -1,
      retryAfterMs: -1,
      state: UsageState.USAGE_STATE_NORMAL,
    });
  });

  it("charges one unit if no cost is given, and nothing if it is 0", async () => {
    const { client } = await served();
    for (const [cost, currentCount] of [
      [undefined, 1],
      [0, 1],
      [5, 6],
    ]) {
      expect(await call(client, client.checkRateLimit, check({ cost }))).toMatchObject({ currentCount });
    }
  });

  it("applies the rules for the method of the request", async () => {
    const { client } = await served([rule({ rule_id: "posts", methods: ["POST"], limit: 1 })]);
    const ruleOf = async (method: string) => (await call(client, client.checkRateLimit, check({ method }))).ruleId;
    expect([await ruleOf("POST"), await ruleOf("post"), await ruleOf("GET"), await ruleOf("")]).toEqual([
      "posts",
      "posts",
      "",
      "",
    ]);
    const answer = await call(client, client.getRemainingQuota, quota({ method: "POST" }));
    expect(answer).toMatchObject({ allowed: false, ruleId: "posts" });
    await expect(call(client, client.checkRateLimit, check({ method: "a b" }))).rejects.toThrow("method: must be");
  });

  it("allows what no rule is for, and names none", async () => {
    const { client } = await served();
    expect(await call(client, client.checkRateLimit, check({ dimension: Dimension.DIMENSION_API_KEY }))).toMatchObject({
      allowed: true,
      ruleId: "",
      limit: 0,
    });
  });
});
