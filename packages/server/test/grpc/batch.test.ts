import { status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { Dimension } from "../../src/grpc/generated/headgate/v1/rate_limiter.ts";
import { rule } from "../check/fixtures.ts";
import { call, check, served } from "./fixtures.ts";

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
});
