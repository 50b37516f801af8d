import { countText, durationText, shareText } from "headgate-simulator";
import { type ClusterReport, simulateCluster } from "headgate-simulator/cluster";
import { type ExitCode, exitCodes, InvalidInput } from "../failure.ts";
import { rulesForPath } from "../replay/rules-for-path.ts";
import type { SimulateCommandOptions } from "./simulate.ts";
import type { SimulationFile } from "./simulation-file.ts";

/** Simulates the nodes of a file, once for each consistency, and prints what they admit and what it takes. */
export async function simulateNodes(
  { name, model, dimension, rules, cluster }: SimulationFile,
  seed: number,
  options: SimulateCommandOptions,
): Promise<ExitCode> {
  if (cluster === undefined) throw new Error("the file has no cluster");
  if (options.html !== undefined) throw new InvalidInput("--html: is not available for a cluster");
  if (options.failIf !== undefined) throw new InvalidInput("--fail-if: is not available for a cluster");
  const [config, ...others] = rules;
  if (config === undefined || others.length > 0) {
    throw new InvalidInput(`${name}: rules: a cluster is simulated with exactly one rule`);
  }
  if (model.sources.some(({ retries }) => retries !== undefined)) {
    throw new InvalidInput(`${name}: traffic: clients of a cluster do not retry: remove retries`);
  }
  const find = await rulesForPath(rules, dimension);
  const [source] = model.sources;
  const { enforced } = find({ time: 0, key: "", cost: 1, path: source.path, method: source.method });
  if (enforced.length === 0) throw new InvalidInput(`${name}: rules: the rule does not apply to ${source.path}`);
  const [{ rule }] = enforced;
  const reports: { readonly consistency: string; readonly report: ClusterReport }[] = [];
  for (const consistency of cluster.consistency ?? [config.consistency]) {
    const report = await simulateCluster({
      traffic: { ...model, seed },
      rule: { name: rule.name, limit: rule.limit },
      cluster: { ...cluster, consistency },
    });
    reports.push({ consistency, report });
  }
  process.stdout.write(
    options.json ? `${JSON.stringify(reports.map(jsonOf))}\n` : textOf(name, seed, cluster.nodes, reports),
  );
  return exitCodes.done;
}

interface Named {
  readonly consistency: string;
  readonly report: ClusterReport;
}

function textOf(name: string, seed: number, nodes: number, reports: readonly Named[]): string {
  const rows = [
    ["", "admitted", "denied", "failed", "of limit", "round trips", "median", "p99", "busiest shard"],
    ...reports.map(({ consistency, report }) => [
      consistency,
      countText(report.admitted),
      countText(report.denied),
      countText(report.failed),
      report.averageOfLimit === 0 ? "" : `${(100 * report.mostOfLimit).toFixed(1)} %`,
      `${report.roundTripsPerThousand.toFixed(report.roundTripsPerThousand < 10 ? 2 : 0)} / 1,000`,
      durationOf(report.medianWait),
      durationOf(report.p99Wait),
      busiestText(report),
    ]),
  ];
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const table = rows.map((row) =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ")}`.trimEnd(),
  );
  const [{ report }] = reports;
  const rate = countText(Math.round(report.checks / report.seconds));
  const title = `${name}: seed ${seed}, ${countText(report.checks)} checks on ${countText(nodes)} nodes, ${rate} per second`;
  return `${[title, ...table].join("\n")}\n`;
}

function durationOf(wait: number): string {
  return wait > 0 && wait < 10_000 ? `${Number((wait / 1000).toPrecision(2))} ms` : durationText(wait);
}

function busiestText({ shards, seconds }: ClusterReport): string {
  const busiest = shards.reduce((most, shard) => (shard.calls > most.calls ? shard : most));
  return `${countText(Math.round(busiest.calls / seconds))} calls/s (${shareText(busiest.busyShare, 1)} busy)`;
}

function jsonOf({ consistency, report }: Named): Readonly<Record<string, unknown>> {
  return {
    consistency,
    checks: report.checks,
    admitted: report.admitted,
    denied: report.denied,
    failed: report.failed,
    most_of_limit: report.mostOfLimit,
    average_of_limit: report.averageOfLimit,
    round_trips_per_thousand: report.roundTripsPerThousand,
    median_wait_ms: report.medianWait / 1000,
    p99_wait_ms: report.p99Wait / 1000,
    longest_wait_ms: report.longestWait / 1000,
    shards: report.shards.map(({ calls, busyShare }) => ({ calls, busy_share: busyShare })),
  };
}
