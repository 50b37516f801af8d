import { describe, expect, it } from "vitest";
import { checkResult } from "../../test/checks/results.ts";
import type { CheckRequest } from "../checks/check.ts";
import { NodeTelemetry } from "./node-telemetry.ts";
import { prometheus } from "./prometheus.ts";

const SECRETIVE: CheckRequest = { identifier: "nobody-may-see-this", dimension: "user", endpoint: "/orders", cost: 1 };

async function scrape(telemetry: NodeTelemetry): Promise<string> {
  return prometheus(telemetry, "1.2.3").metrics();
}

describe("metrics", () => {
  it("count decisions by rule, outcome and source", async () => {
    const telemetry = new NodeTelemetry();
    const passed = checkResult({ limits: [{}, { rule_id: "all", source: "lease" }] });
    const refused = checkResult({ limits: [{ allowed: false, source: "fallback" }] });
    telemetry.decided(SECRETIVE, passed, 0.001);
    telemetry.decided(SECRETIVE, passed, 0.001);
    telemetry.decided(SECRETIVE, refused, 0.001);
    const text = await scrape(telemetry);
    expect(text).toContain('headgate_decisions_total{rule="orders",outcome="allowed",source="store"} 2\n');
    expect(text).toContain('headgate_decisions_total{rule="all",outcome="allowed",source="lease"} 2\n');
    expect(text).toContain('headgate_decisions_total{rule="orders",outcome="denied",source="fallback"} 1\n');
    expect(text).toContain('headgate_checks_total{outcome="allowed"} 2\n');
    expect(text).toContain('headgate_checks_total{outcome="denied"} 1\n');
  });

  it("count what a shadow rule would deny apart from what is denied", async () => {
    const telemetry = new NodeTelemetry();
    const shadow = [{ rule_id: "trial", allowed: false }];
    telemetry.decided(SECRETIVE, checkResult({ shadow }), 0.001);
    telemetry.decided(SECRETIVE, checkResult({}), 0.001);
    const text = await scrape(telemetry);
    expect(text).toContain('headgate_shadow_denied_total{rule="trial"} 1\n');
    expect(text).not.toContain('outcome="denied",source');
    expect(text).toContain("headgate_unmatched_checks_total 1\n");
  });

  it("have histograms that Prometheus can add up", async () => {
    const telemetry = new NodeTelemetry();
    for (const seconds of [0.000001, 0.0004, 0.0004, 7]) telemetry.decided(SECRETIVE, checkResult({}), seconds);
    telemetry.called("rest", "/api/v1/check", "200", 0.002);
    telemetry.called("rest", "/api/v1/check", "200", 0.002);
    telemetry.skew(-2_000);
    const text = await scrape(telemetry);
    expect(text).toContain('headgate_check_seconds_bucket{le="0.00001"} 1\n');
    expect(text).toContain('headgate_check_seconds_bucket{le="0.0005"} 3\n');
    expect(text).toContain('headgate_check_seconds_bucket{le="1"} 3\n');
    expect(text).toContain('headgate_check_seconds_bucket{le="+Inf"} 4\n');
    expect(text).toContain("headgate_check_seconds_count 4\n");
    expect(text).toMatch(/headgate_check_seconds_sum 7\.0008/);
    const labels = 'transport="rest",route="/api/v1/check",status="200"';
    expect(text).toContain(`headgate_call_seconds_bucket{${labels},le="0.0025"} 2\n`);
    expect(text).toContain(`headgate_call_seconds_count{${labels}} 2\n`);
    expect(text).toContain('headgate_client_clock_skew_seconds_bucket{direction="behind",le="1"} 0\n');
    expect(text).toContain('headgate_client_clock_skew_seconds_bucket{direction="behind",le="5"} 1\n');
  });

  it("include stores, states, the build and the process", async () => {
    const telemetry = new NodeTelemetry();
    telemetry.storeFailed("HG_STORE_TIMEOUT");
    telemetry.storeFailed("HG_STORE_TIMEOUT");
    telemetry.transition("orders", "warning", "throttled");
    const text = await scrape(telemetry);
    expect(text).toContain('headgate_store_errors_total{code="HG_STORE_TIMEOUT"} 2\n');
    expect(text).toContain('headgate_state_transitions_total{rule="orders",from="warning",to="throttled"} 1\n');
    expect(text).toContain(`headgate_build_info{version="1.2.3",node="${process.versions.node}"} 1\n`);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
  });

  it("are the same when read twice, and never name a key", async () => {
    const telemetry = new NodeTelemetry();
    telemetry.decided(SECRETIVE, checkResult({ limits: [{ allowed: false }] }), 1e-5);
    const registry = prometheus(telemetry, "1");
    const [first, second] = [await registry.metrics(), await registry.metrics()];
    const ours = (text: string) => text.split("\n").filter((line) => line.startsWith("headgate_"));
    expect(ours(second)).toEqual(ours(first));
    expect(first).not.toContain(SECRETIVE.identifier);
    expect(telemetry.topDenied.top(5)).toEqual([
      { dimension: "user", identifier: SECRETIVE.identifier, denied: 1, error: 0 },
    ]);
  });

  it("have a bounded number of series, whatever paths clients request", async () => {
    const telemetry = new NodeTelemetry();
    for (let route = 0; route < 5_000; route += 1) telemetry.called("rest", `/${route}`, "404", 0.001);
    expect(telemetry.calls.size).toBe(1_001);
    expect(await scrape(telemetry)).toContain(
      'headgate_call_seconds_count{transport="rest",route="other",status="404"} 4000\n',
    );
  });
});

describe("the keys that are denied most", () => {
  it("are of this period and the last one, over all dimensions", () => {
    const { topDenied } = new NodeTelemetry();
    topDenied.add("user", "long ago");
    topDenied.rotate();
    topDenied.add("user", "a");
    topDenied.rotate();
    topDenied.add("user", "a");
    topDenied.add("ip", "a");
    expect(topDenied.top(10)).toEqual([
      { dimension: "user", identifier: "a", denied: 2, error: 0 },
      { dimension: "ip", identifier: "a", denied: 1, error: 0 },
    ]);
    expect(topDenied.top(1)).toHaveLength(1);
  });
});

/** The rules of `promtool check metrics`, as far as names and texts go. */
it("keeps the rules that promtool checks", async () => {
  const text = await scrape(new NodeTelemetry());
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
  const helped = new Set([...text.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name));
  expect(types.size).toBeGreaterThan(20);
  for (const [name, type] of types) {
    expect(helped, name).toContain(name);
    expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
    expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
    expect(name).not.toMatch(
      /_(count|sum|bucket|milliseconds|minutes|hours|kilobytes|megabytes|percent|gauge|counter)$/,
    );
  }
});
