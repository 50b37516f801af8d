import { status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { rule } from "../../checks/fixtures.ts";
import { call, check, served } from "./fixtures.ts";
import { Dimension } from "./generated/headgate/v1/rate_limiter.ts";

describe("Refund and Penalize", () => {
  it("correct many charges in one call, each by itself", async () => {
    const { client } = await served([rule({ limit: 5 })]);
    const checks = [check({ cost: 4 }), check({ identifier: "43", cost: 7 }), check({ identifier: "" })];
    const charged = await call(client, client.penalize, { checks });
    expect(charged.responses.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 1],
      [false, 0],
      [false, 0],
    ]);
    expect(charged.errors).toMatchObject([{ index: 2, code: status.INVALID_ARGUMENT, field: "identifier" }]);
    const refunded = await call(client, client.refund, { checks: [check({ cost: 3 }), check({ cost: 0 })] });
    expect(refunded.responses[0]).toMatchObject({ allowed: true, remaining: 4 });
    expect(refunded.errors).toMatchObject([{ index: 1, field: "cost" }]);
  });
});

describe("a check with several identities", () => {
  const rules = [rule({ limit: 5 }), rule({ rule_id: "address", dimension: "ip", limit: 1 })];
  const both = check({
    identifier: "",
    dimension: Dimension.DIMENSION_UNSPECIFIED,
    identities: [
      { identifier: "42", dimension: Dimension.DIMENSION_USER },
      { identifier: "10.0.0.1", dimension: Dimension.DIMENSION_IP },
    ],
    withLimits: true,
  });

  it("charges all of them, or none", async () => {
    const { client } = await served(rules);
    expect(await call(client, client.checkRateLimit, both)).toMatchObject({
      allowed: true,
      limits: [
        { ruleId: "all", identifier: "42", dimension: Dimension.DIMENSION_USER, remaining: 4 },
        { ruleId: "address", identifier: "10.0.0.1", dimension: Dimension.DIMENSION_IP, remaining: 0 },
      ],
    });
    const { responses } = await call(client, client.checkRateLimitBatch, { checks: [both, check({ cost: 0 })] });
    expect(responses).toMatchObject([
      { allowed: false, ruleId: "address" },
      { allowed: true, remaining: 4 },
    ]);
  });

  it.each([
    [{ ...both, identifier: "42" }, "identities"],
    [
      { ...both, identities: [...both.identities, { identifier: "x", dimension: 0 as const }] },
      "identities[2].dimension",
    ],
    [
      { ...both, identities: Array.from({ length: 9 }, (_, i) => ({ identifier: `${i}`, dimension: 1 as const })) },
      "identities",
    ],
  ])("is refused", async (wrong, field) => {
    const { client } = await served(rules);
    const { errors } = await call(client, client.checkRateLimitBatch, { checks: [wrong] });
    expect(errors).toMatchObject([{ index: 0, code: status.INVALID_ARGUMENT, field }]);
  });
});
