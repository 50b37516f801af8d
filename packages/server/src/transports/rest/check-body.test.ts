import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainCheck } from "./check-body.ts";
import { checkBody } from "./schemas.ts";

const text = (longest: number) =>
  fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 5 }),
    fc.integer({ min: longest - 1, max: longest + 1 }).map((length) => "x".repeat(length)),
    fc.constantFrom(null, 7, ["a"]),
  );

const bodies = fc.record(
  {
    identifier: text(1_024),
    dimension: fc.constantFrom("user", "ip", "apikey", "User", "", null, undefined, 1, "__proto__"),
    endpoint: text(8_192),
    cost: fc.oneof(fc.nat(5), fc.double(), fc.constantFrom(-1, -0, 2 ** 53 - 1, 2 ** 53, "1", null, undefined)),
    with_limits: fc.constantFrom(false, true, "no"),
    timestamp: fc.constantFrom(0, 1.5),
    stranger: fc.constant(1),
  },
  { requiredKeys: [] },
);

describe("the quick way to read a check", () => {
  it("makes of a body what the schema makes of it, or leaves it to that", () => {
    const property = fc.property(fc.oneof({ weight: 9, arbitrary: bodies }, fc.anything()), (body) => {
      const plain = plainCheck(body);
      if (plain !== undefined) expect(checkBody.safeParse(body)).toEqual({ success: true, data: plain });
    });
    fc.assert(property, { numRuns: 3_000 });
  });

  it.each([
    { identifier: "1", endpoint: "/" },
    { identifier: "x".repeat(1_024), endpoint: "x".repeat(8_192), dimension: "ip", cost: 0 },
    { cost: 2 ** 53 - 1, endpoint: "/ä", dimension: "apikey", identifier: "k" },
  ])("takes what nearly all send: %#", (body) => {
    expect(plainCheck(body)).toEqual(checkBody.parse(body));
  });
});
