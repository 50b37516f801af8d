import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { ruleInput } from "./rule-input.ts";
import { parseRules, readRulesFile, rulesText } from "./rules-file.ts";
import { RulesFileError } from "./rules-file-error.ts";

const GOOD = `# All of it.
rules:
  - name: Orders
    dimension: user
    endpoint_pattern: /api/v1/orders
    limit: 100
    window_seconds: 60
  - name: Orders of the premium
    dimension: user
    endpoint_pattern: /api/v1/orders
    limit: 1000
    window_seconds: 60
    tier: premium
`;

function problemsOf(text: string): string[] {
  try {
    parseRules(text, "rules.yaml");
  } catch (error) {
    if (!(error instanceof RulesFileError)) throw error;
    return error.problems.map(({ line, column, field, problem }) => `${line}:${column} ${field}: ${problem}`);
  }
  return [];
}

/** The good file with one line in the place of another. */
function withLine(line: number, text: string): string {
  return GOOD.split("\n")
    .toSpliced(line - 1, 1, text)
    .join("\n");
}

const rule = fc.record({
  name: fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 40 })
    .filter((name) => /^(?=.*\S)[^\p{Cc}\p{Cs}]+$/u.test(name)),
  dimension: fc.constantFrom("user", "ip", "apikey"),
  endpoint_pattern: fc.constantFrom("/", "/**", "/a: b", "/- x", "/'\"", "/:id/*", "/true", "/é"),
  limit: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  window_seconds: fc.integer({ min: 1, max: 100_000 }),
  algorithm: fc.constantFrom("gcra", "fixed_window"),
  mode: fc.constantFrom("enforce", "shadow"),
});

describe("rules as a text", () => {
  it("are read as they were written", () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), (given) => {
        const rules = given.map((fields, i) => ruleInput.parse({ ...fields, rule_id: `${i}`, window_seconds: i + 1 }));
        expect(parseRules(rulesText(rules), "")).toEqual(rules);
      }),
    );
  });

  it("leave out what is null anyway", () => {
    expect(rulesText(parseRules(GOOD, ""))).not.toContain("null");
  });
});

describe("a rules file", () => {
  it("is read whole, with ids and defaults filled in", () => {
    expect(parseRules(GOOD, "rules.yaml")).toMatchObject([
      { rule_id: "orders", limit: 100, tier: null, algorithm: "token_bucket", mode: "enforce" },
      { rule_id: "orders-of-the-premium", limit: 1000, tier: "premium" },
    ]);
  });

  it("can be JSON, and can have anchors", () => {
    expect(parseRules(JSON.stringify({ rules: parseRules(GOOD, "") }), "")).toEqual(parseRules(GOOD, ""));
    const anchored = withLine(6, "    limit: &many 100").replace("limit: 1000", "limit: *many");
    expect(parseRules(anchored, "")).toMatchObject([{ limit: 100 }, { limit: 100 }]);
  });

  it("can contain no rules, but only explicitly", () => {
    expect(parseRules("rules: []", "")).toEqual([]);
    for (const text of ["", "# nothing", "rules:", "{}", "rules: {}", "[]", "rules"]) {
      expect(problemsOf(text), text).toEqual([
        expect.stringMatching(/must be (a list of rules|an object with a list)/),
      ]);
    }
  });

  it.each([
    [6, "    limit: 0", "6:12 rules[0].limit: must be a whole number from 1 to 2^53 - 1"],
    [6, "    limit: '100'", "6:12 rules[0].limit: must be a whole number from 1 to 2^53 - 1"],
    [6, "    limit: 1_000", "6:12 rules[0].limit: must be a whole number from 1 to 2^53 - 1"],
    [6, "    limit:", "6:11 rules[0].limit: must be a whole number from 1 to 2^53 - 1"],
    [6, "", "3:5 rules[0].limit: is required: a whole number from 1 to 2^53 - 1"],
    [10, "    endpoint_pattern: ''", "10:23 rules[1].endpoint_pattern: must begin with a slash"],
    [7, "    window: 60", "3:5 rules[0].window_seconds: is required"],
    [7, "    window_seconds: 60\n    windw: 1", "8:12 rules[0].windw: is not a known field (known: rule_id, name"],
    [2, "rulez:", "2:1 rules: must be a list of rules"],
    [9, "    dimension: users", "9:16 rules[1].dimension: must be one of user, ip, apikey"],
    [13, "", "10:23 rules[1].endpoint_pattern: rules[0] has the same dimension, pattern, window and tier"],
    [8, "  - name: orders", "8:5 rules[1].rule_id: orders is that of rules[0] too"],
    [13, "    tier: premium\n    rule_id: orders", "14:14 rules[1].rule_id: orders is that of rules[0] too"],
    [6, "    limit: 100\n    limit: 200", "7:5 : Map keys must be unique"],
    [6, "    limit: [100", "7:5 : "],
    [6, "\tlimit: 100", "6:1 : "],
    [6, "    limit: *many", "6:12 : "],
    [13, "---\nrules: []", "13:1 : "],
    [6, "    limit: !!js/function 'x'", "6:12 : "],
  ])("is refused with another line %d, %j", (line, text, problem) => {
    expect(problemsOf(withLine(line, text))[0]).toContain(problem);
  });

  it("may have the fields that the library has for a limit, and aliases", () => {
    const text = `rules:
  - name: Orders
    dimension: API_KEY
    endpoint_pattern: "*"
    limit: 10
    window_seconds: 60
    algorithm: bucketed_window
    bucket_width: 0.5
    exact: false
  - name: Logins
    dimension: IP
    endpoint_pattern: login
    limit: 10
    window_seconds: 60
    algorithm: sliding_window
`;
    const rules = parseRules(text, "rules.yaml");
    expect(rules).toMatchObject([
      { dimension: "apikey", endpoint_pattern: "/**", bucket_width: 0.5, exact: false, anchor: null },
      { dimension: "ip", endpoint_pattern: "/login", algorithm: "sliding_window_counter", bucket_width: null },
    ]);
    expect(parseRules(rulesText(rules), "again.yaml")).toEqual(rules);
  });

  it("is refused with everything that is wrong at once", () => {
    const text = GOOD.replace("limit: 100\n", "limit: -1\n").replace("tier: premium", "tier: ''\n    color: red");
    expect(problemsOf(text).map((problem) => problem.split(" ").slice(0, 2).join(" "))).toEqual([
      "6:12 rules[0].limit:",
      "13:11 rules[1].tier:",
      "14:12 rules[1].color:",
    ]);
    expect(() => parseRules(text, "rules.yaml")).toThrow(
      "rules.yaml:6:12: rules[0].limit: must be a whole number from 1 to 2^53 - 1 (and 2 more)",
    );
  });

  it("is refused if its aliases would fill the memory", () => {
    const bomb = Array.from(
      { length: 20 },
      (_, i) => `a${i + 1}: &a${i + 1} [${"*a".concat(String(i), ",").repeat(9)}]`,
    );
    expect(problemsOf(["a0: &a0 [1]", ...bomb, "rules: []"].join("\n"))[0]).toMatch(/alias/);
  });

  it("can be as the page on rules shows it", () => {
    const page = readFileSync(new URL("../../../../docs/service/rules.md", import.meta.url), "utf8");
    const [, example = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
    expect(parseRules(example, "").map(({ rule_id }) => rule_id)).toEqual([
      "everything",
      "orders",
      "orders-premium",
      "changes-to-orders",
      "logins",
    ]);
  });

  it("is read from disk", async () => {
    const folder = mkdtempSync(join(tmpdir(), "headgate-rules-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "rules.yaml");
    writeFileSync(path, GOOD);
    expect(await readRulesFile(path)).toHaveLength(2);
    await expect(readRulesFile(join(folder, "none.yaml"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});
