import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rule, standing } from "../../test/checks/fixtures.ts";
import { Catalogue } from "../rules/catalogue.ts";
import { DIMENSIONS } from "../rules/rule.ts";
import type { AppliedLimit } from "../rules/shared-counter.ts";
import type { Standing } from "../rules/user-limits.ts";
import { type Plan, Plans } from "./check-plans.ts";

const catalogues = [
  Catalogue.of([
    rule({ rule_id: "any", endpoint_pattern: "/a" }),
    rule({ rule_id: "premium", endpoint_pattern: "/a", tier: "premium", limit: 20 }),
    rule({ rule_id: "shadow", endpoint_pattern: "/**", mode: "shadow" }),
    rule({ rule_id: "cached", endpoint_pattern: "/a", window_seconds: 3_600, consistency: "cached" }),
    rule({ rule_id: "ip", endpoint_pattern: "/a", dimension: "ip" }),
  ]),
  Catalogue.of([rule({ rule_id: "any", endpoint_pattern: "/a", limit: 5 })]),
  Catalogue.of([]),
];

const override = {
  override_id: "o",
  user_id: "u",
  rule_id: null,
  limit: 99,
  burst: null,
  reason: "launch",
  expires_at: new Date(500).toISOString(),
  created_at: new Date(0).toISOString(),
  created_by: "k",
};

const standings: readonly (Standing | undefined)[] = [
  undefined,
  standing("u", { tier: null }),
  standing("u", { tier: "premium" }),
  standing("u", { tier: "premium\n/a" }),
  standing("u", { custom_limits: { any: { limit: 7 } } }),
  standing("u", { tier: "premium", overrides: [override] }),
];

const asked = fc.record({
  // Mostly the same: what is remembered is to be used.
  catalogue: fc.oneof({ weight: 9, arbitrary: fc.constant(catalogues[0]) }, fc.constantFrom(...catalogues)),
  dimension: fc.constantFrom(...DIMENSIONS),
  endpoint: fc.constantFrom("/a", "a", "/b", "/a/..", "premium\n/a", `/a?${"x".repeat(300)}`),
  who: fc.constantFrom(...standings),
  now: fc.constantFrom(0, 499, 500, 501),
});

describe("the limits that are remembered for an endpoint", () => {
  it("are those that the rules give, whatever was asked before", () => {
    const property = fc.property(fc.array(asked, { maxLength: 60, size: "max" }), (requests) => {
      const plans = new Plans();
      for (const { catalogue, dimension, endpoint, who, now } of requests) {
        const request = { identifier: "u", dimension, endpoint, cost: 1 };
        const standing = dimension === "user" ? who : undefined;
        const expected = catalogue.limitsFor({ dimension, endpoint, standing }, now);
        expect(idsOf(plans.of(catalogue, request, standing, () => now))).toEqual({
          enforced: expected.filter(({ config }) => config.mode === "enforce").map(text),
          shadow: expected.filter(({ config }) => config.mode === "shadow").map(text),
        });
      }
    });
    fc.assert(property, { numRuns: 200 });
  });

  it("are not worked out twice, and not remembered without bound", () => {
    let asked = 0;
    const [catalogue] = catalogues;
    const counted: Pick<Catalogue, "limitsFor"> = {
      limitsFor: (...args) => {
        asked += 1;
        return catalogue.limitsFor(...args);
      },
    };
    const plans = new Plans();
    const ask = (endpoint: string) =>
      plans.of(counted, { identifier: "u", dimension: "user", endpoint, cost: 1 }, undefined, () => 0);
    expect(ask("/a")).toBe(ask("/a"));
    expect(asked).toBe(1);
    for (let i = 0; i < 10_000; i += 1) ask(`/${i}`);
    ask("/a");
    expect(asked).toBe(10_002);
  });

  it("are asked of the strict store if they do not agree", () => {
    const request = { identifier: "u", dimension: "user", endpoint: "/a", cost: 1 } as const;
    const [mixed, same] = catalogues;
    expect(new Plans().of(mixed, request, undefined, () => 0).consistency).toBe("strict");
    const cached = Catalogue.of(same.rules.map((rule) => ({ ...rule, consistency: "cached" })));
    expect(new Plans().of(cached, request, undefined, () => 0).consistency).toBe("cached");
  });
});

function idsOf({ enforced, shadow }: Plan) {
  return { enforced: enforced.map(text), shadow: shadow.map(text) };
}

function text({ config, origin }: AppliedLimit): string {
  return `${config.rule_id} ${origin}`;
}
