import { type Result, ratio, type Standing } from "./results.ts";

export const HEADINGS = ["subject", "median", "min..max", "to the best peer"] as const;

/** The results of a workload as the cells of a table. */
export function cells(standing: Standing): string[][] {
  return standing.results.map((result) => [
    result.subject,
    `${figure(result.median)} ${result.unit}`,
    `${figure(result.min)}..${figure(result.max)}`,
    times(ratio(standing, result)),
  ]);
}

/** Headgate compared with the best peer, in one line. */
export function comparison(standing: Standing): string | undefined {
  const { workload, headgate, bestPeer } = standing;
  if (headgate === undefined || bestPeer === undefined) return undefined;
  return (
    `${workload.name}: ${headgate.subject} ${amount(headgate)}, the best peer (${bestPeer.subject}) ${amount(bestPeer)}: ` +
    `${times(ratio(standing, headgate))} as ${workload.better === "more" ? "fast" : "good"}`
  );
}

export function textTable(standing: Standing): string {
  const rows = [[...HEADINGS], ...cells(standing)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join("  "),
  );
  const heading = `${standing.workload.name} · ${standing.workload.about}`;
  return [heading, ...lines, comparison(standing)].filter((line) => line !== undefined).join("\n");
}

function amount(result: Result): string {
  return `${figure(result.median)} ${result.unit}`;
}

function times(ratio: number | undefined): string {
  return ratio === undefined ? "" : `${figure(ratio)}×`;
}

function figure(value: number): string {
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value >= 1 ? value.toFixed(2) : value.toPrecision(2);
}
