import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { UserDataCache } from "../../src/checks/user-data-cache.ts";
import { allSettings, flagOf, variableOf } from "../../src/config/fields.ts";
import { readSettings } from "../../src/config/read-settings.ts";
import { NodeTelemetry } from "../../src/metrics/node-telemetry.ts";
import { prometheus } from "../../src/metrics/prometheus.ts";
import { addFigures } from "../../src/runtime/node-metrics.ts";

function page(name: string): string {
  return readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), "utf8");
}

it("docs/service/configuration.md has every setting, its flag, its variable and its default", async () => {
  const { shown } = await readSettings({ flags: {}, env: {} });
  const defaults = new Map(shown.map(({ name, value }) => [name, value]));
  const rows = page("service/configuration.md")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  for (const setting of allSettings) {
    const row = rows.find((line) => line.split("|")[1].includes(`\`${setting.name}\``));
    expect(row, setting.name).toBeDefined();
    if (setting.takes !== undefined && setting.name !== "tls_key") expect(row).toContain(`\`${flagOf(setting)}\``);
    if (setting.name !== "tls_key") expect(row).toContain(`\`${variableOf(setting)}\``);
    const value = defaults.get(setting.name);
    if (value !== undefined) expect(row?.split("|")[3].replaceAll("`", "").trim(), setting.name).toBe(String(value));
  }
});

it("docs/service/monitoring.md has every metric, and no other", async () => {
  const registry = prometheus(new NodeTelemetry(), "1");
  const numbers = () => new Proxy({} as never, { get: () => 0 });
  addFigures(registry, {
    rules: { catalogue: { rules: [] } as never, isStale: false },
    stores: { stats: { memoryKeys: () => 0, resilient: numbers(), cached: numbers, leased: numbers, split: numbers } },
    userDataCache: new UserDataCache({ get: () => Promise.reject() }),
    rollups: { dropped: 0 },
    lostLogLines: () => 0,
    wrongKeys: { counts: { rejected: 0, throttled: 0 } },
    reservations: { open: undefined, cleanedUp: 0 },
  });
  const exported = registry
    .getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => name.startsWith("headgate_"));
  const documented = page("service/monitoring.md")
    .split("\n")
    .filter((line) => line.startsWith("| `headgate_"));
  const names = documented.flatMap((line) => line.split("|")[1].match(/headgate_\w+/g) ?? []);
  expect(names.sort()).toEqual(exported.sort());
});
