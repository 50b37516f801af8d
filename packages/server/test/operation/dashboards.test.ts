import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";

const run = promisify(execFile);
// Of Debian's prometheus: a literal name would make knip look for it among the packages.
const PROMTOOL = "promtool";
const hasPromtool = spawnSync(PROMTOOL, ["--version"]).error === undefined;

const deploy = new URL("../../../../deploy/", import.meta.url);
const alerts = new URL("prometheus/alerts.yaml", deploy);
const alertTests = new URL("prometheus/alerts.test.yaml", deploy);
const dashboard = new URL("grafana/headgate.json", deploy);

interface AlertTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts?: readonly unknown[] }[];
  }[];
}

/** The metrics of Headgate that an expression names, without the suffixes of histograms. */
function metricsIn(expression: string): string[] {
  return (expression.match(/\bheadgate_\w+/g) ?? []).map((name) => name.replace(/_(bucket|count|sum)$/, ""));
}

function expressionsOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => (key === "expr" ? [String(item)] : expressionsOf(item)));
}

// The page is compared with the code by another test.
const documented = new Set(
  metricsIn(
    readFileSync(new URL("../docs/service/monitoring.md", deploy), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("| `headgate_"))
      .join("\n"),
  ),
);

it.each([
  ["alerts.yaml", () => parse(readFileSync(alerts, "utf8"))],
  ["headgate.json", () => JSON.parse(readFileSync(dashboard, "utf8"))],
])("%s names metrics that exist", (_, read) => {
  const expressions = expressionsOf(read());
  expect(expressions.length).toBeGreaterThan(8);
  for (const expression of expressions) {
    const names = metricsIn(expression);
    if (names.length === 0) expect(expression).toMatch(/^up\b/);
    for (const name of names) expect(documented, `${name} in ${expression}`).toContain(name);
  }
});

it("headgate.json has panels that do not overlap, each with its data source", () => {
  const { panels, templating, uid } = JSON.parse(readFileSync(dashboard, "utf8"));
  expect(uid).toBe("headgate");
  expect(templating.list.map(({ name }: { name: string }) => name)).toEqual(["datasource", "job", "instance"]);
  const cells = new Set<string>();
  for (const { title, gridPos, targets, datasource } of panels) {
    expect(datasource.uid, title).toBe("${" + "datasource}");
    expect(targets.length, title).toBeGreaterThan(0);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(x, title).toBeLessThan(24);
        expect(cells.has(`${x} ${y}`), `${title} at ${x} ${y}`).toBe(false);
        cells.add(`${x} ${y}`);
      }
    }
  }
});

it.skipIf(!hasPromtool)("promtool accepts the alerts (skipped without promtool, of Debian's prometheus)", async () => {
  const { stdout } = await run(PROMTOOL, ["check", "rules", fileURLToPath(alerts)]);
  expect(stdout).toContain("SUCCESS: 10 rules found");
});

it("each alert has a case in which it fires, and one in which it does not", () => {
  const names = [...readFileSync(alerts, "utf8").matchAll(/alert: (\w+)/g)].map(([, name]) => name).sort();
  const { tests } = parse(readFileSync(alertTests, "utf8")) as AlertTests;
  const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
  const named = (fires: boolean) =>
    new Set(cases.flatMap(({ alertname, exp_alerts }) => ((exp_alerts !== undefined) === fires ? alertname : [])));
  expect([...named(true)].sort()).toEqual(names);
  expect([...named(false)].sort()).toEqual(names);
});

it.skipIf(!hasPromtool)("promtool finds that the alerts fire when they should", async () => {
  const { stdout } = await run(PROMTOOL, ["test", "rules", fileURLToPath(alertTests)]);
  expect(stdout).toContain("SUCCESS");
});

it.skipIf(!hasPromtool)("promtool accepts the expressions of the dashboard", async () => {
  const rules = expressionsOf(JSON.parse(readFileSync(dashboard, "utf8"))).map((expression, i) => ({
    record: `panel_${i}`,
    // What Grafana fills in.
    expr: expression.replaceAll("$__rate_interval", "5m").replaceAll(/\$(job|instance)/g, ".*"),
  }));
  const folder = mkdtempSync(join(tmpdir(), "headgate-dashboard-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "rules.json"), JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
  const { stdout } = await run(PROMTOOL, ["check", "rules", join(folder, "rules.json")]);
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});
