import { collectDefaultMetrics, Registry } from "prom-client";
import { SOURCES } from "./decision-counts.ts";
import { foldCounter, foldGauge, foldHistogram, type Series, type SpreadSeries } from "./derived-metrics.ts";
import type { NodeTelemetry } from "./node-telemetry.ts";

/** A registry per node: two nodes in one process do not mix their figures. */
export function prometheus(telemetry: NodeTelemetry, version: string): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // Prometheus expects names ending in _total to be counters, and these are not. Their sums by type remain.
  for (const what of ["handles", "requests", "resources"]) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  foldGauge(registry, "headgate_build_info", "Version of Headgate and Node.", ["version", "node"], () => [
    [{ version, node: process.versions.node }, 1],
  ]);
  foldCounter(
    registry,
    "headgate_decisions_total",
    "Decisions by rule; for shadow rules, only allowed ones.",
    ["rule", "outcome", "source"],
    () => decisions(telemetry),
  );
  foldCounter(
    registry,
    "headgate_shadow_denied_total",
    "Requests that rules would have denied if they were enforced.",
    ["rule"],
    () => shadowDenied(telemetry),
  );
  foldCounter(
    registry,
    "headgate_candidate_denied_total",
    "Requests that the candidates of rules would have denied.",
    ["rule"],
    () => candidateDenied(telemetry),
  );
  foldCounter(registry, "headgate_checks_total", "Checks, each under all of its rules.", ["outcome"], () => [
    [{ outcome: "allowed" }, telemetry.checks.allowed],
    [{ outcome: "denied" }, telemetry.checks.denied],
  ]);
  foldCounter(registry, "headgate_unmatched_checks_total", "Checks that no rule matched.", [], () => [
    [{}, telemetry.checks.unmatched],
  ]);
  foldGauge(
    registry,
    "headgate_identities",
    "Different identities in the checks of the last whole minute (estimate).",
    ["usage"],
    () => {
      const { any, above } = telemetry.identities.lastMinute();
      return [
        [{ usage: "any" }, any],
        [{ usage: "above_80" }, above],
      ];
    },
  );
  foldHistogram(registry, "headgate_check_seconds", "Time that checks took inside the node.", [], () => [
    [{}, telemetry.checkSeconds],
  ]);
  foldHistogram(
    registry,
    "headgate_call_seconds",
    "Duration of calls by transport, route and status.",
    ["transport", "route", "status"],
    () => calls(telemetry),
  );
  foldCounter(registry, "headgate_store_errors_total", "Failed calls to the store.", ["code"], () =>
    [...telemetry.storeErrors].map(([code, count]): Series => [{ code }, count]),
  );
  foldCounter(
    registry,
    "headgate_state_transitions_total",
    "Changes of the usage state of keys.",
    ["rule", "from", "to"],
    () => transitions(telemetry),
  );
  foldHistogram(
    registry,
    "headgate_client_clock_skew_seconds",
    "How far the clocks of clients are ahead or behind.",
    ["direction"],
    () => [
      [{ direction: "ahead" }, telemetry.ahead],
      [{ direction: "behind" }, telemetry.behind],
    ],
  );
  foldCounter(registry, "headgate_skewed_checks_total", "Checks whose clock skew exceeds skew_bound.", [], () => [
    [{}, telemetry.checks.skewed],
  ]);
  return registry;
}

function* decisions({ tally }: NodeTelemetry): Iterable<Series> {
  for (const [rule, { allowed, denied }] of tally.rules) {
    for (const [index, source] of SOURCES.entries()) {
      if (allowed[index] > 0) yield [{ rule, outcome: "allowed", source }, allowed[index]];
      if (denied[index] > 0) yield [{ rule, outcome: "denied", source }, denied[index]];
    }
  }
}

function* shadowDenied({ tally }: NodeTelemetry): Iterable<Series> {
  for (const [rule, { shadowDenied }] of tally.rules) if (shadowDenied > 0) yield [{ rule }, shadowDenied];
}

function* candidateDenied({ tally }: NodeTelemetry): Iterable<Series> {
  for (const [rule, { candidateDenied }] of tally.rules) if (candidateDenied > 0) yield [{ rule }, candidateDenied];
}

function* calls(telemetry: NodeTelemetry): Iterable<SpreadSeries> {
  for (const { transport, route, status, seconds } of telemetry.calls) {
    yield [{ transport, route, status }, seconds];
  }
}

function* transitions(telemetry: NodeTelemetry): Iterable<Series> {
  for (const [rule, counts] of telemetry.transitions) {
    for (const [name, count] of counts) {
      const [from, to] = name.split(" ");
      yield [{ rule, from, to }, count];
    }
  }
}
