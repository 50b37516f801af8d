import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { sampleRule as rule } from "../../test/rules/sample-rule.ts";
import { Catalogue } from "./catalogue.ts";
import type { Override, UserData } from "./user-limits.ts";

function userData(fields: Partial<UserData>): UserData {
  return { user_id: "12345", tier: null, custom_limits: {}, overrides: [], version: 1, ...fields };
}

function override(fields: Partial<Override>): Override {
  return {
    override_id: "o1",
    user_id: "12345",
    rule_id: null,
    limit: 7,
    burst: null,
    reason: "launch day",
    expires_at: "2026-01-02T00:00:00.000Z",
    created_at: "2026-01-01T00:00:00.000Z",
    created_by: "ops",
    ...fields,
  };
}

const NOW = new Date("2026-01-01T12:00:00.000Z");

function limits(
  catalogue: Catalogue,
  { endpoint = "/api/v1/orders", userData: s }: { endpoint?: string; userData?: UserData } = {},
) {
  return catalogue.limitsFor({ dimension: "user", endpoint, userData: s }, NOW);
}

function told(catalogue: Catalogue, s?: UserData): unknown[] {
  return limits(catalogue, s === undefined ? {} : { userData: s }).map(({ config, limit, origin }) => [
    config.rule_id,
    limit.limit,
    origin,
  ]);
}

describe("a catalogue", () => {
  it("counts rules for different methods apart, and looks them up by method", () => {
    const catalogue = Catalogue.of([
      rule({ rule_id: "any" }),
      rule({ rule_id: "writes", methods: ["POST", "PUT"] }),
      rule({ rule_id: "posts", methods: ["POST"] }),
      rule({ rule_id: "posts-premium", methods: ["POST"], tier: "premium" }),
    ]);
    const counters = (method?: string, tier: string | null = null) =>
      catalogue
        .limitsFor({ dimension: "user", endpoint: "/api/v1/orders", method, userData: userData({ tier }) }, NOW)
        .map(({ config, rule: { counter } }) => `${config.rule_id} ${counter}`);
    expect(counters("POST")).toEqual([
      "any 60:/api/v1/orders",
      "writes 60:POST,PUT:/api/v1/orders",
      "posts 60:POST:/api/v1/orders",
    ]);
    expect(counters("post", "premium").at(-1)).toBe("posts-premium 60:POST:/api/v1/orders");
    expect(counters("PUT")).toEqual(["any 60:/api/v1/orders", "writes 60:POST,PUT:/api/v1/orders"]);
    expect(counters("GET")).toEqual(["any 60:/api/v1/orders"]);
    expect(counters()).toEqual(["any 60:/api/v1/orders"]);
    expect(catalogue.methods).toEqual(new Set(["POST", "PUT"]));
  });

  it("rejects two rules for the same methods in the same place", () => {
    const methods = ["POST"];
    expect(
      refusal(() => Catalogue.of([rule({ rule_id: "a", methods }), rule({ rule_id: "b", methods })])),
    ).toMatchObject({ message: expect.stringContaining("methods and window as rule a") });
  });

  it("finds all families that match, the broadest first", () => {
    const catalogue = Catalogue.of([
      rule({ rule_id: "exact" }),
      rule({ rule_id: "hourly", window_seconds: 3600 }),
      rule({ rule_id: "everything", endpoint_pattern: "/**" }),
      rule({ rule_id: "version", endpoint_pattern: "/api/:version/orders" }),
      rule({ rule_id: "other", endpoint_pattern: "/api/v1/users" }),
      rule({ rule_id: "address", dimension: "ip" }),
    ]);
    expect(limits(catalogue).map(({ config }) => config.rule_id)).toEqual(["everything", "version", "exact", "hourly"]);
    expect(limits(catalogue).map(({ rule }) => rule.counter)).toEqual([
      "60:/**",
      "60:/api/:version/orders",
      "60:/api/v1/orders",
      "3600:/api/v1/orders",
    ]);
    expect(catalogue.limitsFor({ dimension: "ip", endpoint: "/api/v1/orders", userData: undefined }, NOW)).toHaveLength(
      1,
    );
    expect(catalogue.limitsFor({ dimension: "apikey", endpoint: "/api/v1/orders", userData: undefined }, NOW)).toEqual(
      [],
    );
  });

  it("makes the limit that the rule states", () => {
    const [{ rule: made }] = limits(Catalogue.of([rule({ algorithm: "gcra", burst: 20 })]));
    expect(made.limit).toMatchObject({ algorithm: "gcra", limit: 100, window: 60_000_000, burst: 20 });
  });

  it("names the rule and the field that cannot be used", () => {
    expect(refusal(() => Catalogue.of([rule({ algorithm: "magic" as never })])).message).toMatch(
      /^rules\["orders"\]\.algorithm: must be one of token_bucket, /,
    );
    expect(refusal(() => Catalogue.of([rule({ endpoint_pattern: "orders" })])).message).toMatch(
      /^rules\["orders"\]\.endpoint_pattern: must begin with a slash/,
    );
  });

  it("refuses two rules for the same place", () => {
    expect(refusal(() => Catalogue.of([rule({}), rule({ rule_id: "again", limit: 5 })])).message).toBe(
      'rules["again"].endpoint_pattern: the same dimension, pattern, methods and window as rule orders: change or remove one of them',
    );
    const free = rule({ tier: "free" });
    expect(refusal(() => Catalogue.of([rule({}), free, { ...free, rule_id: "again" }])).message).toContain(
      "window and tier as rule orders",
    );
  });

  it("counts an endpoint under every way to read it, and each family once", () => {
    const catalogue = Catalogue.of([rule({}), rule({ rule_id: "all", endpoint_pattern: "/**" })]);
    const found = limits(catalogue, { endpoint: "/api/v2/..%2fv1/orders?page=2" });
    expect(found.map(({ config }) => config.rule_id)).toEqual(["all", "orders"]);
  });
});

describe("a hundred thousand rules", () => {
  const many = Array.from({ length: 100_000 }, (_, i) => {
    return rule({ rule_id: `r${i}`, endpoint_pattern: `/s${i}/:id`, limit: 1 + (i % 50) });
  });

  it("make a catalogue in little time, and are found as quickly as ten", () => {
    // Time of the processor, which other work on the machine does not change. Quadratic work would take minutes.
    const before = process.cpuUsage();
    const catalogue = Catalogue.of(many);
    expect(limits(catalogue, { endpoint: "/s77777/5" }).map(({ config }) => config.rule_id)).toEqual(["r77777"]);
    for (let i = 0; i < 100_000; i += 1) limits(catalogue, { endpoint: `/s${i}/5` });
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(20_000);
  });
});

describe("a family", () => {
  const tiers = Catalogue.of([
    rule({}),
    rule({ rule_id: "premium", tier: "premium", limit: 1000 }),
    rule({ rule_id: "enterprise", tier: "enterprise", limit: 10_000 }),
  ]);

  it("takes the member of the user's tier, else the one without a tier", () => {
    expect(told(tiers)).toEqual([["orders", 100, "rule"]]);
    expect(told(tiers, userData({}))).toEqual([["orders", 100, "rule"]]);
    expect(told(tiers, userData({ tier: "premium" }))).toEqual([["premium", 1000, "tier"]]);
    expect(told(tiers, userData({ tier: "unheard of" }))).toEqual([["orders", 100, "rule"]]);
  });

  it("does not apply to a tier that it has no member for, if it has none without a tier", () => {
    const catalogue = Catalogue.of([rule({ tier: "free" })]);
    expect(told(catalogue, userData({ tier: "free" }))).toEqual([["orders", 100, "tier"]]);
    expect(told(catalogue, userData({ tier: "premium" }))).toEqual([]);
    expect(told(catalogue)).toEqual([]);
  });

  it("has one counter whatever the tier, so that what was used stays used", () => {
    const applied = [undefined, userData({ tier: "premium" })].flatMap((s) => limits(tiers, s ? { userData: s } : {}));
    expect(new Set(applied.map(({ rule }) => rule.counter))).toEqual(new Set(["60:/api/v1/orders"]));
  });
});

describe("an address or an API key", () => {
  it("has no tier, custom limit or override, whatever a user of that name has", () => {
    const catalogue = Catalogue.of([
      rule({ dimension: "ip" }),
      rule({ dimension: "ip", rule_id: "premium", tier: "premium" }),
    ]);
    const everything = userData({
      tier: "premium",
      custom_limits: { orders: { limit: 1 } },
      overrides: [override({})],
    });
    const found = catalogue.limitsFor({ dimension: "ip", endpoint: "/api/v1/orders", userData: everything }, NOW);
    expect(found.map(({ config, origin }) => [config.rule_id, origin])).toEqual([["orders", "rule"]]);
  });
});

describe("a user with a tier or limits of their own", () => {
  const catalogue = Catalogue.of([
    rule({ algorithm: "token_bucket", burst: 50 }),
    rule({ rule_id: "premium", tier: "premium", limit: 1000 }),
    rule({ rule_id: "all", endpoint_pattern: "/**", window_seconds: 3600, limit: 5000 }),
  ]);
  const custom_limits = { orders: { limit: 300, burst: 30 } };

  it("has a custom limit in the place of the rule's", () => {
    const s = userData({ custom_limits });
    expect(told(catalogue, s)).toEqual([
      ["all", 5000, "rule"],
      ["orders", 300, "custom"],
    ]);
    expect(limits(catalogue, { userData: s })[1]).toMatchObject({
      rule: { name: "orders", counter: "60:/api/v1/orders" },
      limit: { limit: 300, burst: 30 },
    });
  });

  it("can burst up to the custom limit if it states no burst", () => {
    const s = userData({ custom_limits: { orders: { limit: 300 } } });
    expect(limits(catalogue, { userData: s })[1].limit.burst).toBe(300);
  });

  it("has no custom limit of a rule that is not the one for their tier", () => {
    expect(told(catalogue, userData({ tier: "premium", custom_limits }))).toEqual([
      ["all", 5000, "rule"],
      ["premium", 1000, "tier"],
    ]);
  });

  it("takes an override of the rule first, then one of all rules, then a custom limit", () => {
    const ofAll = override({});
    const ofOrders = override({
      override_id: "o2",
      rule_id: "orders",
      limit: 8,
      created_at: "2025-01-01T00:00:00.000Z",
    });
    expect(told(catalogue, userData({ custom_limits, overrides: [ofOrders, ofAll] }))).toEqual([
      ["all", 7, "override"],
      ["orders", 8, "override"],
    ]);
    expect(told(catalogue, userData({ custom_limits, overrides: [ofAll] }))).toEqual([
      ["all", 7, "override"],
      ["orders", 7, "override"],
    ]);
  });

  it("takes of several overrides the one made last", () => {
    const later = override({ limit: 9, created_at: "2026-01-01T11:00:00.000Z" });
    const expected = [
      ["all", 9, "override"],
      ["orders", 9, "override"],
    ];
    expect(told(catalogue, userData({ overrides: [override({}), later] }))).toEqual(expected);
    expect(told(catalogue, userData({ overrides: [later, override({})] }))).toEqual(expected);
  });

  it("has an override until the moment that it expires", () => {
    const s = userData({ overrides: [override({ expires_at: "2026-01-01T12:00:00.001Z", rule_id: "all" })] });
    const at = (now: Date | number) =>
      catalogue.limitsFor({ dimension: "user", endpoint: "/", userData: s }, now)[0].origin;
    expect(at(NOW)).toBe("override");
    expect(at(NOW.getTime() + 1)).toBe("rule");
  });

  it("is not taken in by names that every object has", () => {
    const odd = Catalogue.of([rule({ rule_id: "constructor" }), rule({ rule_id: "__proto__", window_seconds: 1 })]);
    expect(told(odd, userData({}))).toEqual([
      ["constructor", 100, "rule"],
      ["__proto__", 100, "rule"],
    ]);
  });

  it("keeps the rule's limit where the custom limit is not valid", () => {
    expect(told(catalogue, userData({ custom_limits: { all: { limit: 0 } } }))[0]).toEqual(["all", 5000, "rule"]);
  });

  it("has no burst where the algorithm keeps none", () => {
    const [all] = limits(catalogue, { userData: userData({ overrides: [override({ burst: 3 })] }) });
    expect(all.limit).toMatchObject({ algorithm: "sliding_window_counter", limit: 7, burst: 7 });
  });
});

describe("the limit that a store is given", () => {
  const catalogue = Catalogue.of([rule({}), rule({ rule_id: "premium", tier: "premium", limit: 1000 })]);
  const limitFor = (s?: UserData) => limits(catalogue, s === undefined ? {} : { userData: s })[0].limit;

  it("is the same object for the same limit", () => {
    const custom = () => userData({ custom_limits: { orders: { limit: 300 } } });
    expect(limitFor()).toBe(limitFor(userData({})));
    expect(limitFor(userData({ tier: "premium" }))).toBe(limitFor(userData({ tier: "premium" })));
    expect(limitFor(custom())).toBe(limitFor(custom()));
    expect(limitFor(custom())).not.toBe(limitFor());
  });

  it("is kept for a bounded number of custom limits", () => {
    const fresh = Catalogue.of([rule({})]);
    const custom = (limit: number) =>
      limits(fresh, { userData: userData({ custom_limits: { orders: { limit } } }) })[0].limit;
    const [first, last] = [custom(1), custom(2)];
    for (let limit = 3; limit <= 10_001; limit += 1) custom(limit);
    expect(custom(2)).toBe(last);
    expect(custom(1)).not.toBe(first);
  });
});
