import { headgate } from "headgate-testkit/headgate-command";
import { expect, test } from "vitest";
import { folderWith, rulesYaml } from "./files.ts";

test("validate counts the rules of a file that can be used", async () => {
  const cwd = folderWith({ "rules.yaml": rulesYaml({ name: "orders" }, { name: "search" }) });
  expect(await headgate(["rules", "validate", "rules.yaml"], { cwd })).toEqual({
    stdout: "rules.yaml: 2 rules, 0 warnings\n",
    stderr: "",
    code: 0,
  });
});

test("validate reads standard input", async () => {
  const { stdout, code } = await headgate(["rules", "validate", "-"], { stdin: rulesYaml({ name: "orders" }) });
  expect({ stdout, code }).toEqual({ stdout: "standard input: 1 rule, 0 warnings\n", code: 0 });
});

test("validate warns of rules in each other's way, and takes them", async () => {
  const cwd = folderWith({
    "rules.yaml": rulesYaml({ name: "orders" }, { name: "all", endpoint_pattern: "/**", limit: 50 }),
  });
  const { stdout, stderr, code } = await headgate(["rules", "validate", "rules.yaml"], { cwd });
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  expect(stdout).toMatch(
    /^warning: orders \(\/orders, 100 in 60 s\) can never decide: .*\nrules.yaml: 2 rules, 1 warning\n$/,
  );
});

test("validate says all that is wrong, with line, column and field", async () => {
  const cwd = folderWith({
    "rules.yaml":
      "rules:\n  - name: a\n    dimension: tenant\n    endpoint_pattern: /a//b\n    limit: 0\n    window_seconds: 1\n",
  });
  expect(await headgate(["rules", "validate", "rules.yaml"], { cwd })).toEqual({
    stdout: "",
    stderr:
      "headgate: rules.yaml:3:16: rules[0].dimension: must be one of user, ip, apikey\n" +
      "headgate: rules.yaml:4:23: rules[0].endpoint_pattern: has an empty segment: write single slashes, and none at the end\n" +
      "headgate: rules.yaml:5:12: rules[0].limit: must be a whole number from 1 to 2^53 - 1\n",
    code: 1,
  });
});

test("validate says at once what a field, a rule and the whole file have wrong, and names only fields of rules", async () => {
  const rule = (fields: string) => `  - {${fields}}\n`;
  const cwd = folderWith({
    "rules.yaml":
      "rules:\n" +
      rule("name: a, dimension: tenant, endpoint_pattern: /a/**/b, limit: 0, window_seconds: 1") +
      rule("name: b, dimension: ip, endpoint_pattern: /b, limit: 9, window: 60, burst: 20, algorithm: fixed_window") +
      rule("name: c, dimension: ip, endpoint_pattern: /c, limit: 9, window_seconds: 1, tier: pro") +
      rule("name: d, dimension: ip, endpoint_pattern: /d, limit: 9, window_seconds: 1") +
      rule("name: d, dimension: ip, endpoint_pattern: /e, limit: 9, window_seconds: 1"),
  });
  const { stderr, code } = await headgate(["rules", "validate", "rules.yaml"], { cwd });
  expect(code).toBe(1);
  const lines = stderr.trimEnd().split("\n");
  expect(lines.map((line) => /rules\[\d\]\.\w+/.exec(line)?.[0])).toEqual([
    "rules[0].dimension",
    "rules[0].endpoint_pattern",
    "rules[0].limit",
    "rules[1].window_seconds",
    "rules[1].window",
    "rules[1].burst",
    "rules[2].tier",
    "rules[4].rule_id",
  ]);
  expect(lines[5]).toMatch(/does not apply to fixed_window: remove it$/);
  expect(stderr).not.toMatch(/known: limit|bucketWidth/);
});

test("validate reports no problems that follow from another", async () => {
  const rule = (fields: string) => `  - {${fields}, limit: 9}\n`;
  const cwd = folderWith({
    "rules.yaml":
      "rules:\n" +
      rule("name: a, dimension: ip, endpoint_pattern: /a, window_seconds: 60, algorithm: fixed, anchor: request") +
      rule("name: b, dimension: ip, endpoint_pattern: /b, window_seconds: 60, algorithm: bucketed, bucket_width: 5") +
      rule("name: c, dimension: ip, endpoint_pattern: /c, window_seconds: 60, algorithm: lease, consistency: leased") +
      rule("name: d, dimension: ip, endpoint_pattern: /d, window: 9, algorithm: bucketed_window, bucket_width: 5"),
  });
  const { stderr, code } = await headgate(["rules", "validate", "rules.yaml"], { cwd });
  expect(code).toBe(1);
  expect(stderr.match(/rules\[\d\]\.\w+/g)).toEqual([
    "rules[0].algorithm",
    "rules[1].algorithm",
    "rules[2].algorithm",
    "rules[3].window_seconds",
    "rules[3].window",
  ]);
});

test("validate finds an id that is used twice when one of the rules has other problems", async () => {
  const rule = (fields: string) => `  - {${fields}, dimension: ip, window_seconds: 60}\n`;
  const cwd = folderWith({
    "rules.yaml":
      "rules:\n" +
      rule("rule_id: same, name: a, endpoint_pattern: /a, limit: 0") +
      rule("rule_id: same, name: b, endpoint_pattern: /b, limit: 9") +
      rule("name: c, endpoint_pattern: /c/**/d, limit: 9, burst: 3, algorithm: fixed_window") +
      rule("name: C, endpoint_pattern: /e, limit: 9") +
      // A name that cannot be used makes no id.
      rule("name: 1, endpoint_pattern: /f, limit: 9") +
      rule("name: 2, endpoint_pattern: /g, limit: 9"),
  });
  const { stderr, code } = await headgate(["rules", "validate", "rules.yaml"], { cwd });
  expect(code).toBe(1);
  const lines = stderr.trimEnd().split("\n");
  expect(lines.map((line) => /rules\[\d\]\.\w+/.exec(line)?.[0])).toEqual([
    "rules[0].limit",
    "rules[1].rule_id",
    "rules[2].endpoint_pattern",
    "rules[2].burst",
    "rules[3].rule_id",
    "rules[4].name",
    "rules[5].name",
  ]);
  expect(lines[1]).toContain("same is that of rules[0] too");
});

test.each([
  [["validate"], 1, "headgate: file: is required, as in headgate rules validate rules.yaml\n"],
  [["validate", "none.yaml"], 2, "headgate: none.yaml: no such file\n"],
  [["validate", "."], 1, "headgate: .: is a directory, not a file\n"],
  [["validate", "a.yaml", "b.yaml"], 1, "too many arguments"],
  [["chekc"], 1, "unknown command 'chekc'"],
])("rules %j is refused", async (args, code, message) => {
  const run = await headgate(["rules", ...args], { cwd: folderWith({}) });
  expect(run).toMatchObject({ stdout: "", code, stderr: expect.stringContaining(message) });
});
