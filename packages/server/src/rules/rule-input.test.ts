import { algorithms, bucketedWindow, fixedWindow, limitFromSpec } from "headgate";
import { describe, expect, it } from "vitest";
import { Catalogue } from "./catalogue.ts";
import { ruleInput } from "./rule-input.ts";

const least = { name: "Orders", dimension: "user", endpoint_pattern: "/api/v1/orders", limit: 100, window_seconds: 60 };

/** What is told of a rule, as "field: problem". */
function problems(rule: unknown): string[] {
  const { error } = ruleInput.safeParse(rule);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
}

describe("a rule that is given", () => {
  it("needs a name, a dimension, a pattern, a limit and a window; the rest has defaults", () => {
    expect(ruleInput.parse(least)).toEqual({
      ...least,
      rule_id: "orders",
      algorithm: "token_bucket",
      burst: null,
      anchor: null,
      bucket_width: null,
      exact: null,
      tier: null,
      mode: "enforce",
      on_error: "local",
      consistency: "strict",
    });
    expect(problems({})).toEqual([
      "name: is required: a text of at most 255 characters without line breaks",
      "dimension: is required: one of user, ip, apikey",
      'endpoint_pattern: is required: a path such as "/api/v1/orders"',
      "limit: is required: a whole number from 1 to 2^53 - 1",
      "window_seconds: is required: a whole number from 1 to 2251799813 (71 years)",
    ]);
  });

  it.each([
    ["Orders, per minute", "orders-per-minute"],
    ["  --Café №2--  ", "cafe-no2"],
    ["x".repeat(255), "x".repeat(128)],
  ])("is known by its name if it has no rule_id: %j", (name, rule_id) => {
    expect(ruleInput.parse({ ...least, name }).rule_id).toBe(rule_id);
  });

  it("can have the longest window that a limit can have", () => {
    expect(problems({ ...least, window_seconds: 2_251_799_813 })).toEqual([]);
  });

  it("keeps the rule_id that it has", () => {
    expect(ruleInput.parse({ ...least, rule_id: "Or.d_e-rs" }).rule_id).toBe("Or.d_e-rs");
  });

  it("needs a rule_id if its name has no letter or digit to make one of", () => {
    expect(problems({ ...least, name: "注文" })).toEqual([
      "rule_id: is required, because it cannot be derived from a name without letters or digits",
    ]);
  });

  it.each([
    ["rule_id", "a/b", "must be letters, digits"],
    ["rule_id", "", "must be letters, digits"],
    ["rule_id", "x".repeat(129), "must be letters, digits"],
    ["name", " ", "must be a text"],
    ["name", "a\nb", "must be a text"],
    ["name", "\ud800", "must be a text"],
    ["name", 5, "must be a text"],
    ["name", "x".repeat(256), "must be a text"],
    ["dimension", "tenant", "must be one of user, ip, apikey"],
    ["endpoint_pattern", "", "must begin with a slash"],
    ["endpoint_pattern", 5, "must be a path"],
    ["endpoint_pattern", "/**/x", "** is allowed only as the last segment"],
    ["limit", 0, "must be a whole number from 1"],
    ["limit", 1.5, "must be a whole number from 1"],
    ["limit", "100", "must be a whole number from 1"],
    ["limit", 2 ** 53, "must be a whole number from 1"],
    ["limit", Number.NaN, "must be a whole number from 1"],
    ["window_seconds", 0, "must be a whole number from 1"],
    ["window_seconds", 0.5, "must be a whole number from 1"],
    ["window_seconds", 2_251_799_814, "must be at most 2251799813 (71 years)"],
    ["algorithm", "leaky", "must be one of token_bucket, leaky_bucket"],
    ["burst", 0, "must be a whole number from 1"],
    ["burst", 2 ** 52, "is too large"],
    ["anchor", "clock", "does not apply to token_bucket"],
    ["anchor", "request", "does not apply to token_bucket"],
    ["anchor", "sunrise", "must be one of clock, request"],
    ["bucket_width", 1, "does not apply to token_bucket"],
    ["bucket_width", "1", "must be a number of seconds"],
    ["exact", true, "does not apply to token_bucket"],
    ["exact", "yes", "must be true, false or null"],
    ["tier", "", "must be letters, digits"],
    ["mode", "off", "must be one of enforce, shadow"],
    ["on_error", "open", "must be one of allow, deny, local"],
    ["consistency", "eventual", "must be one of strict, cached, leased"],
  ])("is refused with the %s %j", (field, value, problem) => {
    const [told, ...others] = problems({ ...least, [field]: value });
    expect(told).toMatch(new RegExp(`^${field}: `));
    expect(told).toContain(problem);
    expect(others).toEqual([]);
  });

  it("is refused with a field that it does not have", () => {
    expect(problems({ ...least, windw: 60, version: 3 }).join()).toMatch(
      /^: has no field windw, version \(known: rule_id, name, /,
    );
  });

  it.each(Object.values(algorithms))("is refused if its quota is to be leased and cannot be: $name", (definition) => {
    const { name: algorithm, traits } = definition;
    const found = problems({ ...least, algorithm, consistency: "leased" });
    const refusal = new RegExp(
      `^consistency: a ${algorithm} cannot be leased: use one of token_bucket, .*, or consistency strict$`,
    );
    expect(found).toEqual(traits.leasable ? [] : [expect.stringMatching(refusal)]);
  });

  it.each([
    [{ algorithm: "fixed_window" }, fixedWindow("100/m")],
    [{ algorithm: "fixed_window", anchor: "clock" }, fixedWindow("100/m", { anchor: "clock" })],
    [{ algorithm: "fixed_window", anchor: "request" }, fixedWindow("100/m", { anchor: "request" })],
    [{ algorithm: "bucketed_window" }, bucketedWindow("100/m")],
    [{ algorithm: "bucketed_window", bucket_width: 0.25 }, bucketedWindow("100/m", { bucketWidthMs: 250 })],
    [{ algorithm: "bucketed_window", exact: true }, bucketedWindow("100/m", { exact: true })],
    [
      { algorithm: "bucketed_window", exact: false, bucket_width: 2 },
      bucketedWindow("100/m", { bucketWidthMs: 2_000 }),
    ],
  ])("makes the limit that the library makes of %j", (fields, limit) => {
    const rule = { ...ruleInput.parse({ ...least, ...fields }), created_at: "", updated_at: "", version: 1 };
    expect(rule).toMatchObject(fields);
    const request = { dimension: "user", endpoint: "/api/v1/orders", standing: undefined } as const;
    // Beside rules that differ in nothing but these fields: none must get the limit of another.
    const others = [
      { ...rule, rule_id: "other", endpoint_pattern: "/other", anchor: null, bucket_width: null, exact: null },
    ];
    expect(Catalogue.of([...others, rule]).limitsFor(request, 0)).toMatchObject([{ rule: { limit } }]);
  });

  it.each([
    [{ bucket_width: 0 }, "bucket_width"],
    [{ bucket_width: 61 }, "bucket_width"],
    [{ bucket_width: 1e-9 }, "bucket_width"],
  ])("is refused with buckets that are none: %j", (fields, field) => {
    expect(problems({ ...least, algorithm: "bucketed_window", ...fields })).toEqual([
      expect.stringMatching(new RegExp(`^${field}: `)),
    ]);
  });

  it.each([
    ["dimension", "USER", "user"],
    ["dimension", "Ip", "ip"],
    ["dimension", "API_KEY", "apikey"],
    ["dimension", "api_key", "apikey"],
    ["dimension", "ApiKey", "apikey"],
    ["algorithm", "sliding_window", "sliding_window_counter"],
    ["endpoint_pattern", "*", "/**"],
    ["endpoint_pattern", "**", "/**"],
    ["endpoint_pattern", "api/v1/orders", "/api/v1/orders"],
    ["endpoint_pattern", "orders/*", "/orders/*"],
    ["endpoint_pattern", "/*", "/*"],
  ])("may be written with the %s %j, which is %j", (field, alias, value) => {
    expect(ruleInput.parse({ ...least, [field]: alias })).toMatchObject({ [field]: value });
  });

  it("is refused with a burst where the algorithm keeps none", () => {
    expect(problems({ ...least, algorithm: "fixed_window", burst: 5 })).toEqual([
      "burst: does not apply to fixed_window: remove it",
    ]);
  });

  it.each(["ip", "apikey"])("is refused with a tier of an %s", (dimension) => {
    expect(problems({ ...least, dimension, tier: "free" })).toEqual([
      "tier: applies only to the dimension user: remove it, or change the dimension",
    ]);
  });

  it.each([null, undefined, [], "rule", 5])("is refused as %j", (rule) => {
    expect(problems(rule)).toEqual([expect.stringMatching(/^: must be a rule: an object with at least name/)]);
  });

  it("makes a catalogue, with every algorithm that the core has", () => {
    const message = (() => {
      try {
        limitFromSpec({ algorithm: "?" });
      } catch (error) {
        return String(error);
      }
      return "";
    })();
    const names = message.match(/[a-z_]+(?=, |,? got)/g)?.filter((name) => name.includes("_") || name === "gcra") ?? [];
    expect(names).toHaveLength(7);
    for (const algorithm of names) {
      const rule = { ...ruleInput.parse({ ...least, algorithm }), created_at: "", updated_at: "", version: 1 };
      expect(Catalogue.of([rule]).rules).toHaveLength(1);
    }
  });
});
