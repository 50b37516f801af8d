import { describe, expect, it } from "vitest";
import { sampleRule } from "../../test/rules/sample-rule.ts";
import { Catalogue } from "./catalogue.ts";
import type { RateLimitRule } from "./rule.ts";

/** The pairs of rules that are warned of; each rule is named by its place in the list. */
function warned(...rules: Partial<RateLimitRule>[]): string[] {
  const { warnings } = Catalogue.of(rules.map((fields, i) => sampleRule({ rule_id: `r${i}`, ...fields })));
  return warnings.map(
    ({ rule_ids, message }) => `${rule_ids.join(" ")} ${message.includes("never decide") ? "idle" : "twins"}`,
  );
}

const narrow = { endpoint_pattern: "/api/orders" };
const broad = { endpoint_pattern: "/api/**" };

describe("rules in each other's way", () => {
  it("are reported by name, with what to check", () => {
    const idle = sampleRule({ rule_id: "orders" });
    const strict = sampleRule({ rule_id: "all", endpoint_pattern: "/**", limit: 50 });
    const twin = sampleRule({ rule_id: "any", endpoint_pattern: "/:x", limit: 10 });
    expect(
      Catalogue.of([idle, strict, twin, { ...twin, rule_id: "one", endpoint_pattern: "/*", limit: 9 }]).warnings,
    ).toEqual([
      {
        rule_ids: ["orders", "all"],
        message:
          "orders (/api/v1/orders, 100 in 60 s) can never decide: all (/**, 50 in 60 s) counts the same requests and is at least as strict",
      },
      {
        rule_ids: ["any", "one"],
        message: expect.stringContaining("can never decide"),
      },
      {
        rule_ids: ["one", "any"],
        message:
          "one (/*, 9 in 60 s) matches the same paths as any (/:x, 10 in 60 s): both are enforced; write both patterns alike if one is to replace the other by tier",
      },
    ]);
  });

  it.each([
    ["a broader pattern with a stricter limit", { ...narrow, limit: 100 }, { ...broad, limit: 50 }],
    ["a broader pattern with the same limit", narrow, broad],
    ["a parameter in the place of a part", narrow, { endpoint_pattern: "/api/:what" }],
    ["a rest in the place of a parameter", { endpoint_pattern: "/:a" }, { endpoint_pattern: "/**" }],
  ])("are found: %s", (_, one, other) => {
    expect(warned(one, other)).toEqual(["r0 r1 idle"]);
    expect(warned(other, one)).toEqual(["r1 r0 idle"]);
  });

  it.each([
    ["a broader pattern with a looser limit", { ...narrow, limit: 100 }, { ...broad, limit: 1000 }],
    ["another window", narrow, { ...broad, window_seconds: 3600 }],
    ["another algorithm", narrow, { ...broad, algorithm: "fixed_window" as const }],
    ["another dimension", narrow, { ...broad, dimension: "ip" as const }],
    ["a rule that refuses nothing", narrow, { ...broad, mode: "shadow" as const }],
    ["patterns that only meet", { endpoint_pattern: "/:a/orders" }, { endpoint_pattern: "/api/:b" }],
    ["a stricter limit for a part of what is matched", broad, { endpoint_pattern: "/api/*", limit: 50 }],
  ])("are not found in %s", (_, one, other) => {
    expect(warned(one, other)).toEqual([]);
    expect(warned(other, one)).toEqual([]);
  });

  it("are compared where they are for the same methods", () => {
    const post = { methods: ["POST"] };
    const writes = { methods: ["POST", "PUT"] };
    expect(warned({ ...narrow, ...post }, broad)).toEqual(["r0 r1 idle"]);
    expect(warned({ ...narrow, ...post }, { ...broad, ...writes })).toEqual(["r0 r1 idle"]);
    expect(warned({ ...narrow, ...writes }, { ...broad, ...post })).toEqual([]);
    expect(warned(narrow, { ...broad, ...post })).toEqual([]);
    const [a, b] = [{ endpoint_pattern: "/:a" }, { endpoint_pattern: "/:b" }];
    expect(warned({ ...a, ...post }, { ...b, ...post })).toEqual(["r1 r0 twins"]);
    expect(warned({ ...a, ...post }, { ...b, methods: ["PUT"] })).toEqual([]);
    const [{ message }] = Catalogue.of([sampleRule(post), sampleRule({ rule_id: "all", limit: 5 })]).warnings;
    expect(message).toContain("orders (POST /api/v1/orders, 100 in 60 s) can never decide: all (/api/v1/orders, ");
  });

  it("are found by rate and burst where there is a burst", () => {
    const bucket = { ...narrow, algorithm: "token_bucket" as const, limit: 60, window_seconds: 60, burst: 10 };
    const over = (fields: Partial<RateLimitRule>) => warned(bucket, { ...bucket, ...broad, ...fields });
    expect(over({ limit: 1800, window_seconds: 3600 })).toEqual(["r0 r1 idle"]);
    expect(over({ limit: 3600, window_seconds: 3600, burst: 10 })).toEqual(["r0 r1 idle"]);
    expect(over({ limit: 3601, window_seconds: 3600, burst: 10 })).toEqual([]);
    expect(over({ limit: 1800, window_seconds: 3600, burst: 11 })).toEqual([]);
  });

  it("are reported once if they match and allow the same", () => {
    const bucket = { algorithm: "gcra" as const, burst: 10, limit: 60, window_seconds: 60 };
    expect(warned(bucket, { ...bucket, limit: 120, window_seconds: 120 })).toEqual(["r1 r0 idle"]);
  });

  it("are compared tier by tier", () => {
    const free = { tier: "free", limit: 10 };
    const pro = { tier: "pro", limit: 100 };
    // All tiers except free have 1000 at the broad pattern, which leaves the narrow ones something to decide.
    expect(
      warned({ ...narrow, ...free }, { ...narrow, ...pro }, { ...broad, limit: 1000 }, { ...broad, ...free, limit: 5 }),
    ).toEqual(["r0 r3 idle"]);
    // A rule without a tier is idle only if the other's tiers have at most its limit.
    expect(warned({ ...narrow, limit: 50 }, { ...broad, limit: 10 }, { ...broad, ...pro })).toEqual([]);
    expect(
      warned(
        { ...narrow, limit: 50 },
        { ...narrow, ...pro },
        { ...broad, limit: 10 },
        { ...broad, ...pro, limit: 101 },
      ),
    ).toEqual(["r0 r2 idle"]);
    // Users without a tier are never denied by a family for one tier.
    expect(warned({ ...narrow, limit: 50 }, { ...broad, ...free })).toEqual([]);
  });

  it("are found among 100,000 in little time", () => {
    const rules = Array.from({ length: 100_000 }, (_, i) =>
      sampleRule({ rule_id: `r${i}`, endpoint_pattern: `/s${i % 300}/:id/p${i}` }),
    );
    const catalogue = Catalogue.of([...rules, sampleRule({ rule_id: "all", endpoint_pattern: "/**", limit: 1 })]);
    expect(catalogue.warnings).toHaveLength(100_000);
  });
});
