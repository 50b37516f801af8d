import { algorithms, bucketedWindow, fixedWindow, limitFromSpec } from "headgate";
import { documented } from "headgate-testkit/docs-pages";
import { describe, expect, it } from "vitest";
import { Catalogue } from "./catalogue.ts";
import { ruleInput } from "./rule-input.ts";

const least = { name: "Orders", dimension: "user", endpoint_pattern: "/api/v1/orders", limit: 100, window_seconds: 60 };

/** What is reported about a rule, as "field: problem". */
function problems(rule: unknown): string[] {
  const { error } = ruleInput.safeParse(rule);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
}

/** The table in docs/service/rules.md: the default of each field, as it is written there. */
const documentedDefaults = new Map(
  [...documented("service/rules.md").matchAll(/^\| (`\w+`(?:, `\w+`)*) \| (.*?) \|/gm)].flatMap(([, names, value]) =>
    names
      .replaceAll("`", "")
      .split(", ")
      .map((name): [string, string] => [name, value]),
  ),
);

describe("a rule that is given", () => {
  it("needs a name, a dimension, a pattern, a limit and a window; the rest has documented defaults", () => {
    const { rule_id, ...rule } = ruleInput.parse(least);
    expect(rule_id).toBe("orders");
    expect(rule).toMatchObject(least);
    for (const [field, value] of Object.entries(rule)) {
      expect(documentedDefaults.has(field), `${field} is missing in docs/service/rules.md`).toBe(true);
      const written = field in least ? "required" : `\`${value}\``;
      if (value !== null) expect(documentedDefaults.get(field), field).toBe(written);
    }
    expect(problems({})).toEqual([
      "name: is required: a text of at most 255 characters without line breaks",
      "dimension: is required: one of user, ip, apikey",
      'endpoint_pattern: is required: a path such as "/api/v1/orders"',
      "limit: is required: a whole number from 1 to 2^53 - 1",
    ]);
    const { window_seconds: _, ...windowless } = least;
    expect(problems(windowless)).toEqual([
      "window_seconds: is required: a whole number from 1 to 2251799813 (71 years), unless the rule has a calendar",
    ]);
  });

  it("can follow the calendar of a time zone", () => {
    const { window_seconds: _, ...windowless } = least;
    const monthly = { ...windowless, algorithm: "fixed_window", calendar: "month", time_zone: "Europe/Berlin" };
    expect(ruleInput.parse(monthly)).toMatchObject({ window_seconds: null, calendar: "month", anchor_day: null });
    expect(ruleInput.parse({ ...monthly, anchor_day: 31 })).toMatchObject({ anchor_day: 31 });
  });

  it.each([
    [{ calendar: "month" }, ["calendar: does not apply to token_bucket: remove it"]],
    [
      { algorithm: "fixed_window", calendar: "month", window_seconds: 60 },
      ["window_seconds: cannot be combined with a calendar: remove one of them"],
    ],
    [
      { algorithm: "fixed_window", calendar: "month", time_zone: "Mars/Olympus" },
      ['time_zone: must be an IANA time zone such as "Europe/Berlin" or "UTC", got "Mars/Olympus"'],
    ],
    [
      { algorithm: "fixed_window", calendar: "month", anchor_day: 32 },
      ["anchor_day: must be a whole number from 1 to 31, or null"],
    ],
    [
      { algorithm: "fixed_window", calendar: "year", anchor_day: 29 },
      ["anchor_day: applies to windows of one month, not of one year"],
    ],
    [{ algorithm: "fixed_window", calendar: "fortnight" }, ["calendar: must be one of day, week, month, year"]],
    [
      { algorithm: "fixed_window", window_seconds: 60, time_zone: "UTC" },
      ["time_zone: requires a calendar: windows of one day, week, month or year"],
    ],
  ])("is refused with %j", (fields, expected) => {
    const { window_seconds: _, ...windowless } = least;
    expect(problems({ ...windowless, ...fields })).toEqual(expected);
  });

  it("can limit concurrent tasks, without a window", () => {
    const { window_seconds: _, ...windowless } = least;
    const slots = { ...windowless, algorithm: "concurrency" };
    expect(ruleInput.parse(slots)).toMatchObject({ algorithm: "concurrency", limit: 100, window_seconds: null });
    const wrong = [
      [{ window_seconds: 60 }, "window_seconds: does not apply to concurrency: remove it"],
      [{ burst: 5 }, "burst: does not apply to concurrency: remove it"],
      [
        { consistency: "leased" },
        "consistency: must be strict for a limit on concurrent tasks: slots are kept in the store",
      ],
      [{ mode: "shadow" }, "mode: must be enforce for a limit on concurrent tasks: nothing takes slots in shadow mode"],
      [{ enforce_share: 0.5 }, "enforce_share: must be null for a limit on concurrent tasks"],
      [{ candidate: { limit: 5 } }, "candidate: must be null for a limit on concurrent tasks"],
    ] as const;
    for (const [fields, problem] of wrong) expect(problems({ ...slots, ...fields })[0]).toBe(problem);
    expect(problems({ ...least, candidate: { limit: 5, algorithm: "concurrency" } })[0]).toContain(
      "candidate.algorithm: must be one of token_bucket",
    );
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

  it.each([
    [
      ["POST", "PUT"],
      ["POST", "PUT"],
    ],
    [
      ["put", "Post", "PUT"],
      ["POST", "PUT"],
    ],
    [["M-SEARCH"], ["M-SEARCH"]],
    [null, null],
  ])("applies to the methods %j, whatever their case and order", (given, methods) => {
    expect(ruleInput.parse({ ...least, methods: given }).methods).toEqual(methods);
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
    ["methods", [], "must name at least one method; null stands for all methods"],
    ["methods", "POST", "must be a list of HTTP methods such as [POST, PUT], or null"],
    ["enforce_share", 0, "must be above 0: use mode shadow"],
    ["enforce_share", 1.5, "must be at most 1"],
    ["candidate", { limit: 5, windows: 1 }, "has no field windows"],
    ["candidate", 5, "must be an object with limit"],
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
    ["consistency", "eventual", "must be one of strict, cached, leased, split"],
  ])("is refused with the %s %j", (field, value, problem) => {
    const [told, ...others] = problems({ ...least, [field]: value });
    expect(told).toMatch(new RegExp(`^${field}: `));
    expect(told).toContain(problem);
    expect(others).toEqual([]);
  });

  it.each([
    [{ limit: 0 }, "candidate.limit: must be a whole number from 1 to 2^53 - 1"],
    [{ burst: 5 }, "candidate.limit: is required: a whole number from 1 to 2^53 - 1"],
    [{ limit: 5, algorithm: "leaky" }, expect.stringMatching(/^candidate\.algorithm: must be one of token_bucket, /)],
    [{ limit: 5, algorithm: "fixed_window", burst: 2 }, "candidate.burst: does not apply to fixed_window: remove it"],
  ])("is refused with the candidate %j", (candidate, problem) => {
    expect(problems({ ...least, candidate })).toEqual([problem]);
  });

  it("has a candidate that differs only in what it states", () => {
    const { candidate } = ruleInput.parse({ ...least, candidate: { limit: 5, algorithm: "sliding_window" } });
    expect(candidate).toEqual({ limit: 5, burst: null, window_seconds: null, algorithm: "sliding_window_counter" });
  });

  it("is refused with a field that it does not have", () => {
    expect(problems({ ...least, windw: 60, version: 3 }).join()).toMatch(
      /^: has no field windw, version \(known: rule_id, name, /,
    );
  });

  const checked = Object.values(algorithms).filter(({ traits }) => !("releasable" in traits));

  it.each(checked)("is refused if its quota is to be leased and cannot be: $name", (definition) => {
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
    const request = { dimension: "user", endpoint: "/api/v1/orders", userData: undefined } as const;
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
