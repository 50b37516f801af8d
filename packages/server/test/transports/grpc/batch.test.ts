import { status } from "@grpc/grpc-js";
import { ManualClock } from "headgate/testing";
import { describe, expect, it } from "vitest";
import type { CheckService } from "../../../src/checks/check.ts";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import { rule, world } from "../../checks/fixtures.ts";
import { call, check, served } from "./fixtures.ts";
import { Dimension } from "./generated/headgate/v1/rate_limiter.ts";

describe("CheckRateLimitBatch", () => {
  it("answers each check by itself, in order", async () => {
    const { client } = await served([rule({ limit: 2 })]);
    const checks = ["a", "a", "b", "a", "b"].map((identifier) => check({ identifier }));
    const { responses, errors } = await call(client, client.checkRateLimitBatch, { checks });
    expect(responses.map(({ allowed, currentCount }) => [allowed, currentCount])).toEqual([
      [true, 1],
      [true, 2],
      [true, 1],
      [false, 2],
      [true, 2],
    ]);
    expect(errors).toEqual([]);
  });

  it("has an error and an empty answer, which allows nothing, for each check that is wrong", async () => {
    const { client } = await served();
    const checks = [check(), check({ identifier: "" }), check({ dimension: Dimension.DIMENSION_UNSPECIFIED }), check()];
    const { responses, errors } = await call(client, client.checkRateLimitBatch, { checks });
    expect(responses.map(({ allowed, currentCount }) => [allowed, currentCount])).toEqual([
      [true, 1],
      [false, 0],
      [false, 0],
      [true, 2],
    ]);
    expect(errors).toMatchObject([
      { index: 1, code: status.INVALID_ARGUMENT, field: "identifier" },
      { index: 2, code: status.INVALID_ARGUMENT, field: "dimension" },
    ]);
  });

  it("may be empty, and may have a thousand checks, but no more", async () => {
    const { client, told } = await served([rule({ limit: 1_000_000 })]);
    expect(await call(client, client.checkRateLimitBatch, { checks: [] })).toEqual({ responses: [], errors: [] });
    const checks = Array.from({ length: 1_000 }, (_, i) => check({ identifier: `user ${i} ä`, withLimits: true }));
    const { responses } = await call(client, client.checkRateLimitBatch, { checks });
    expect(responses.every(({ allowed, limits }) => allowed && limits.length === 1)).toBe(true);
    expect(responses).toHaveLength(1_000);
    await expect(call(client, client.checkRateLimitBatch, { checks: [...checks, check()] })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("checks"),
    });
    expect(told.decisions).toHaveLength(1_000);
  });

  it("lets others have their turn while it is worked on", async () => {
    const made = await world([rule()]);
    let turns = 0;
    let going = true;
    const other = (): void => {
      turns += 1;
      if (going) setImmediate(other);
    };
    const seen: number[] = [];
    const slow: CheckService["check"] = (asked) => {
      seen.push(turns);
      for (const end = performance.now() + 2; performance.now() < end; );
      return made.service.check(asked);
    };
    const { client } = await served([], { world: made, instead: { check: slow } });
    setImmediate(other);
    const checks = Array.from({ length: 30 }, () => check());
    const { responses } = await call(client, client.checkRateLimitBatch, { checks });
    going = false;
    expect(responses).toHaveLength(30);
    // 60 ms of work, at most some milliseconds of it in one turn.
    expect(new Set(seen).size).toBeGreaterThan(5);
  });

  it("is weighed by the length of its paths", async () => {
    const selfLimits = new SelfLimits({ clock: new ManualClock() });
    const { client } = await served([rule({ limit: 1_000_000 })], { selfLimits });
    selfLimits.admitChecks(100_000 - 250);
    const long = check({ endpoint: `/${"a".repeat(8_000)}` });
    await call(client, client.checkRateLimitBatch, { checks: Array(7).fill(long) });
    const refused = { code: status.RESOURCE_EXHAUSTED };
    await expect(call(client, client.checkRateLimitBatch, { checks: [long] })).rejects.toMatchObject(refused);
    await expect(call(client, client.checkRateLimit, long)).rejects.toMatchObject(refused);
    expect(await call(client, client.checkRateLimit, check())).toMatchObject({ allowed: true });
  });

  it("has an error for a path that has no reading", async () => {
    const { client } = await served();
    const checks = ["/a%00", "/100%25", "/100%", "/a".repeat(65)].map((endpoint) => check({ endpoint }));
    const { errors } = await call(client, client.checkRateLimitBatch, { checks });
    expect(errors).toMatchObject(
      [0, 2, 3].map((index) => ({ index, field: "endpoint", code: status.INVALID_ARGUMENT })),
    );
  });
});
