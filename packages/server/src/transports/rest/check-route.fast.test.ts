import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainCheckIn } from "./check-route.fast.ts";
import { checkBody } from "./schemas/check-schemas.ts";

describe("a plain check", () => {
  it.each([
    { identifier: "42", endpoint: "/api/v1/orders" },
    { identifier: "42", dimension: "user", endpoint: "/api/v1/orders", cost: 1 },
    { identifier: "::1", dimension: "ip", endpoint: "/", method: "POST", cost: 0, timestamp: 1, with_limits: true },
  ])("is %j", (body) => {
    expect(plainCheckIn(JSON.stringify(body))).toBeDefined();
  });

  it("is read as the schema reads it", () => {
    const values = fc.oneof(
      fc.constantFrom(
        "",
        "42",
        "user",
        "USER",
        "api_key",
        "apikey",
        "ip",
        "/api/v1/orders",
        "x".repeat(300),
        "x".repeat(1_025),
      ),
      fc.constantFrom(0, 1, -1, -0, 1.5, 2 ** 53, 1e21, true, false, null, [], {}),
    );
    const names = ["identifier", "dimension", "endpoint", "method", "cost", "timestamp", "with_limits"];
    const bodies = fc.oneof(
      fc.record(Object.fromEntries([...names, "identities", "constructor"].map((name) => [name, values])), {
        requiredKeys: [],
      }),
      fc.record(
        {
          identifier: fc.string(),
          endpoint: fc.string(),
          cost: fc.integer(),
          dimension: fc.constantFrom("user", "ip"),
        },
        { requiredKeys: ["identifier", "endpoint"] },
      ),
      values,
    );
    fc.assert(
      fc.property(bodies, (body) => {
        const plain = plainCheckIn(JSON.stringify(body));
        if (plain === undefined) return;
        const { with_limits, ...request } = checkBody.parse(JSON.parse(JSON.stringify(body)));
        expect(plain).toEqual({ request: { dimension: "user", ...request }, withLimits: with_limits });
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    "",
    "{",
    "null",
    "1",
    "[]",
    '{"identifier":"1","endpoint":"/","__proto__":{}}',
    '{"identifier":"1","endpoint":"/","constructor":{"prototype":{}}}',
    '\ufeff{"identifier":"1","endpoint":"/"}',
  ])("is not %j", (text) => {
    expect(plainCheckIn(text)).toBeUndefined();
  });
});
