import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { UserDataCache } from "../../src/checks/user-data-cache.ts";
import { allSettings, fields, flagOf, variableOf } from "../../src/config/fields.ts";
import { NodeTelemetry } from "../../src/metrics/node-telemetry.ts";
import { prometheus } from "../../src/metrics/prometheus.ts";
import { addFigures } from "../../src/runtime/node-metrics.ts";

function page(name: string): string {
  return readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), "utf8");
}

it("docs/service/configuration.md has every setting, its flag, its variable and its default", () => {
  const rows = page("service/configuration.md")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  for (const setting of allSettings) {
    const row = rows.find((line) => line.split("|")[1].includes(`\`${setting.name}\``));
    expect(row, setting.name).toBeDefined();
    if (setting.takes !== undefined && setting.name !== "tls_key") expect(row).toContain(`\`${flagOf(setting)}\``);
    if (setting.name !== "tls_key") expect(row).toContain(`\`${variableOf(setting)}\``);
  }
  const { http, grpc, data, nodes, storeTimeoutMs, skewBoundMs, logLevel, auditThrottledEveryMs, auditRetentionMs } =
    fields;
  const defaults = [
    http.show(http.initial),
    grpc.show(grpc.initial),
    data.initial,
    nodes.initial,
    storeTimeoutMs.show(storeTimeoutMs.initial),
    skewBoundMs.show(skewBoundMs.initial),
    logLevel.initial,
    fields.configReadsLimit.initial,
    fields.configWritesLimit.initial,
    fields.checksLimit.initial,
    auditThrottledEveryMs.show(auditThrottledEveryMs.initial),
    auditRetentionMs.show(auditRetentionMs.initial),
  ];
  for (const value of defaults)
    expect(
      rows.some((row) => row.split("|")[3].includes(String(value))),
      String(value),
    ).toBe(true);
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
