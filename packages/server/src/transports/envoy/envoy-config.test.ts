import { describe, expect, it } from "vitest";
import { matchOf } from "./descriptor-tree.ts";
import { readDomains } from "./envoy-config.ts";

// The cases are those of envoyproxy/ratelimit, restated.

function read(text: string) {
  return readDomains([{ name: "limits.yaml", text }]);
}

/** The requests per unit that a descriptor such as `key=value key=value` matches; undefined if none. */
function matching(text: string, descriptor: string): number | undefined {
  const root = read(text).domains.get("test");
  const entries = descriptor.split(" ").map((entry) => {
    const [key, value = ""] = entry.split("=");
    return { key, value };
  });
  return root && matchOf(root, entries)?.limit.requestsPerUnit;
}

const BASIC = `
domain: test
descriptors:
  - key: key1
    value: value1
    descriptors:
      - { key: subkey1, rate_limit: { unit: second, requests_per_unit: 5 } }
      - { key: subkey1, value: subvalue1, rate_limit: { unit: SECOND, requests_per_unit: 10 } }
  - { key: key2, rate_limit: { unit: minute, requests_per_unit: 20 } }
  - { key: key2, value: value2, rate_limit: { unit: minute, requests_per_unit: 30 } }
  - { key: key2, value: value3 }
  - key: key5
    value: value5
    rate_limit: { unit: day, requests_per_unit: 15 }
    descriptors:
      - { key: subkey5, value: subvalue5, rate_limit: { unit: day, requests_per_unit: 25 } }
  - { key: status, value: 404, rate_limit: { unit: week, requests_per_unit: 7 } }
  - { key: wild, value: "foo*", rate_limit: { unit: minute, requests_per_unit: 21 } }
  - { key: midWild, value: "bar*b", rate_limit: { unit: minute, requests_per_unit: 22 } }
  - { key: multiWild, value: "foo*bar*baz", rate_limit: { unit: minute, requests_per_unit: 23 } }
  - { key: multiWild, value: "fooXbarYbaz", rate_limit: { unit: minute, requests_per_unit: 24 } }
`;

describe("the limit of a descriptor", () => {
  it.each([
    ["foo_key=1", undefined],
    ["key1=value1", undefined],
    ["key1=value2 subkey1=x", undefined],
    ["key1=value1 subkey1=x", 5],
    ["key1=value1 subkey1=subvalue1", 10],
    ["key1=value1 subkey1=subvalue1 deeper=x", undefined],
    ["key2=x", 20],
    ["key2", 20],
    ["key2=value2", 30],
    ["key2=value3", undefined],
    ["key5=value5", 15],
    ["key5=value5 subkey5=subvalue5", 25],
    ["key5=value5 subkey5=other", undefined],
    ["status=404", 7],
    ["wild=foo", 21],
    ["wild=foo1", 21],
    ["wild=fo", undefined],
    ["midWild=bar12b", 22],
    ["midWild=barb", 22],
    ["midWild=bab", undefined],
    ["multiWild=foo1bar2baz", 23],
    ["multiWild=fooXbarYbaz", 24],
    ["multiWild=foobaz", undefined],
    ["multiWild=foobarba", undefined],
  ])("%s: %o", (descriptor, limit) => {
    expect(matching(BASIC, descriptor)).toBe(limit);
  });

  it.each(["012345678901", "1.10", "12345678901234567890", "0x1F", "1e3", "True"])(
    "for the unquoted value %s: the value as it is written",
    (value) => {
      const text = `domain: test\ndescriptors:\n  - key: account\n    value: ${value}\n    rate_limit: { unit: day, requests_per_unit: 5 }`;
      expect(matching(text, `account=${value}`)).toBe(5);
    },
  );

  it("can be shared by descriptors with anchors, aliases and merge keys", () => {
    const text = `
domain: test
descriptors:
  - { key: a, rate_limit: &daily { unit: day, requests_per_unit: 5 } }
  - { key: b, rate_limit: *daily }
  - { key: c, rate_limit: { <<: *daily, requests_per_unit: 6 } }`;
    expect(["a=1", "b=1", "c=1"].map((descriptor) => matching(text, descriptor))).toEqual([5, 5, 6]);
  });

  it("takes linear time for any wildcard", () => {
    const text = `{ domain: test, descriptors: [{ key: k, value: "${"*a".repeat(40)}*b", rate_limit: { unit: day, requests_per_unit: 1 } }] }`;
    const started = performance.now();
    expect(matching(text, `k=${"a".repeat(50_000)}`)).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

const IN_DOMAIN = (descriptors: string): string => `domain: test\ndescriptors:\n${descriptors}`;

describe("a file that cannot be used", () => {
  it.each([
    ["an empty domain", "domain: ''\n", "1:9: domain: must not be empty"],
    ["no domain", "descriptors: []\n", "1:1: domain: must be a text"],
    ["invalid YAML", "domain: [\n", "2:1: Flow sequence"],
    ["several documents", "domain: a\n---\ndomain: b\n", "2:1: has more than one document: use a file for each"],
    [
      "a bad unit",
      IN_DOMAIN("  - { key: a, rate_limit: { unit: foo, requests_per_unit: 5 } }"),
      "3:35: descriptors[0].rate_limit.unit: must be one of second",
    ],
    ["no key", IN_DOMAIN("  - value: value1"), "3:5: descriptors[0].key: must be a text"],
    [
      "a duplicate",
      IN_DOMAIN("  - { key: a, value: b }\n  - { key: a, value: b }"),
      "4:12: descriptors[1].key: test.a_b is defined twice",
    ],
    [
      "a misspelt field",
      IN_DOMAIN("  - key: a\n    ratelimit: { unit: day }"),
      "4:16: descriptors[0].ratelimit: is not a known field (known: key, value",
    ],
    [
      "a misspelt field of a limit",
      IN_DOMAIN("  - key: a\n    rate_limit: { unit: day, requestsperunit: 5 }"),
      "descriptors[0].rate_limit.requestsperunit: is not a known field",
    ],
    ["a list of texts", IN_DOMAIN("  - a"), "3:5: descriptors[0]: must be a descriptor"],
    ["a field that is no text", "0.25: test\n", "1:1: domain: must be a text (and 1 more)"],
    [
      "an empty replacement",
      IN_DOMAIN("  - { key: a, rate_limit: { name: x, unit: day, requests_per_unit: 1, replaces: [{ name: }] } }"),
      "descriptors[0].rate_limit.replaces[0].name: must be a text",
    ],
    [
      "a limit that replaces itself",
      IN_DOMAIN("  - { key: a, rate_limit: { name: x, unit: day, requests_per_unit: 1, replaces: [{ name: x }] } }"),
      "replaces: names the limit itself",
    ],
    [
      "unlimited with a unit",
      IN_DOMAIN("  - { key: a, rate_limit: { unlimited: true, unit: day } }"),
      "unit: cannot be combined with unlimited",
    ],
    [
      "a shared threshold without a wildcard",
      IN_DOMAIN("  - { key: a, value: b, share_threshold: true }"),
      "share_threshold: needs a value with a wildcard",
    ],
    [
      "a burst of a fixed window",
      IN_DOMAIN("  - { key: a, rate_limit: { unit: day, requests_per_unit: 1, burst: 2 } }"),
      "3:69: descriptors[0].rate_limit.burst: does not apply to fixed_window: remove it, or set algorithm",
    ],
    [
      "a unit and a window",
      IN_DOMAIN("  - { key: a, rate_limit: { unit: day, window_seconds: 5, requests_per_unit: 1 } }"),
      "window_seconds: replaces the unit",
    ],
  ])("with %s: names file, line and column", (_, text, problem) => {
    expect(() => read(text)).toThrow(`limits.yaml:`);
    expect(() => read(text)).toThrow(problem);
  });

  it("with the domain of another file: names both", () => {
    const files = ["a.yaml", "b.yaml"].map((name) => ({ name, text: "domain: test\n" }));
    expect(() => readDomains(files)).toThrow("b.yaml:1:9: domain: test is the domain of a.yaml, too");
  });
});

describe("a file that can be used", () => {
  it("has warnings about fields without effect, with their line", () => {
    const text = IN_DOMAIN("  - key: a\n    detailed_metric: true\n    value_to_metric: true\n    metadata: { a: 1 }");
    expect(read(text).warnings).toEqual([
      expect.stringMatching(/^limits\.yaml:4: descriptors\[0\]\.detailed_metric has no effect: /),
      expect.stringMatching(/^limits\.yaml:5: descriptors\[0\]\.value_to_metric has no effect: /),
      expect.stringMatching(/^limits\.yaml:6: descriptors\[0\]\.metadata has no effect: /),
    ]);
  });

  it("may leave out descriptors and their values", () => {
    expect(read("domain: test\ndescriptors:\n").domains.has("test")).toBe(true);
    expect(matching(IN_DOMAIN("  - { key: a, value: , rate_limit: { unit: day, requests_per_unit: 1 } }"), "a=x")).toBe(
      1,
    );
  });

  it("charges denials of fixed windows, and not of other algorithms, unless it says so", () => {
    const limits = (rateLimit: string) => {
      const root = read(
        IN_DOMAIN(`  - { key: a, rate_limit: { unit: day, requests_per_unit: 1, ${rateLimit} } }`),
      ).domains.get("test");
      return root && [...root.limits()].map(({ charge }) => charge);
    };
    expect(limits("name: x")).toEqual(["always"]);
    expect(limits("charge: if_it_fits")).toEqual(["if_it_fits"]);
    expect(limits("algorithm: gcra")).toEqual(["if_it_fits"]);
    expect(limits("algorithm: gcra, charge: always")).toEqual(["always"]);
  });
});
