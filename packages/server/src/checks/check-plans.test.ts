import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rule, userData } from "../../test/checks/fixtures.ts";
import { Catalogue } from "../rules/catalogue.ts";
import { DIMENSIONS } from "../rules/rule.ts";
import type { AppliedLimit } from "../rules/shared-counter.ts";
import type { UserData } from "../rules/user-limits.ts";
import { type Plan, Plans } from "./check-plans.ts";

const catalogues = [
  Catalogue.of([
    rule({ rule_id: "any", endpoint_pattern: "/a" }),
    rule({ rule_id: "premium", endpoint_pattern: "/a", tier: "premium", limit: 20 }),
    rule({ rule_id: "shadow", endpoint_pattern: "/**", mode: "shadow" }),
    rule({ rule_id: "cached", endpoint_pattern: "/a", window_seconds: 3_600, consistency: "cached" }),
    rule({ rule_id: "posts", endpoint_pattern: "/a", methods: ["POST"] }),
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

const userDataCache: readonly (UserData | undefined)[] = [
  undefined,
  userData("u", { tier: null }),
  userData("u", { tier: "premium" }),
  userData("u", { tier: "premium\n/a" }),
  userData("u", { custom_limits: { any: { limit: 7 } } }),
  userData("u", { tier: "premium", overrides: [override] }),
];

const asked = fc.record({
  // Mostly the same: what is remembered is to be used.
  catalogue: fc.oneof({ weight: 9, arbitrary: fc.constant(catalogues[0]) }, fc.constantFrom(...catalogues)),
  dimension: fc.constantFrom(...DIMENSIONS),
  endpoint: fc.constantFrom("/a", "a", "/b", "/a/..", "premium\n/a", `/a?${"x".repeat(300)}`),
  method: fc.constantFrom(undefined, "POST", "post", "GET", "PUT"),
  who: fc.constantFrom(...userDataCache),
  now: fc.constantFrom(0, 499, 500, 501),
});

describe("the limits that are remembered for an endpoint", () => {
  it("are those that the rules give, whatever was asked before", () => {
    const property = fc.property(fc.array(asked, { maxLength: 60, size: "max" }), (requests) => {
      const plans = new Plans();
      for (const { catalogue, dimension, endpoint, method, who, now } of requests) {
        const request = { identifier: "u", dimension, endpoint, method, cost: 1 };
        const userData = dimension === "user" ? who : undefined;
        const expected = catalogue.limitsFor({ dimension, endpoint, method, userData }, now);
        expect(idsOf(plans.of(catalogue, request, userData, () => now))).toEqual({
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
    const counted: Pick<Catalogue, "limitsFor" | "methods"> = {
      methods: catalogue.methods,
      limitsFor: (...args) => {
        asked += 1;
        return catalogue.limitsFor(...args);
      },
    };
    const plans = new Plans();
    const ask = (endpoint: string, method?: string) =>
      plans.of(counted, { identifier: "u", dimension: "user", endpoint, method, cost: 1 }, undefined, () => 0);
    expect(ask("/a")).toBe(ask("/a"));
    expect(ask("/a", "INVENTED")).toBe(ask("/a"));
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
