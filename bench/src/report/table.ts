import { type Ranking, type Result, ratio } from "./results.ts";

const HEADINGS = ["subject", "median", "min..max", "to the best peer"] as const;

/** The results of a workload as the cells of a table. */
function cells(ranking: Ranking): string[][] {
  return ranking.results.map((result) => [
    result.subject,
    `${figure(result.median)} ${result.unit}`,
    `${figure(result.min)}..${figure(result.max)}`,
    times(ratio(ranking, result)),
  ]);
}

/** Headgate compared with the best peer, in one line. */
export function comparison(ranking: Ranking): string | undefined {
  const { workload, headgate, bestPeer } = ranking;
  if (headgate === undefined || bestPeer === undefined) return undefined;
  return (
    `${workload.name}: ${headgate.subject} ${amount(headgate)}, the best peer (${bestPeer.subject}) ${amount(bestPeer)}: ` +
    `${times(ratio(ranking, headgate))} as ${workload.better === "more" ? "fast" : "good"}`
  );
}

export function textTable(ranking: Ranking): string {
  const rows = [[...HEADINGS], ...cells(ranking)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join("  "),
  );
  const heading = `${ranking.workload.name} · ${ranking.workload.about}`;
  return [heading, ...lines, comparison(ranking)].filter((line) => line !== undefined).join("\n");
}

export function amount(result: Result): string {
  return `${figure(result.median)} ${result.unit}`;
}

/** Larger ratios are those to almost nothing, such as no round trips at all. */
const MOST_TIMES = 1_000;

export function times(ratio: number | undefined): string {
  if (ratio === undefined) return "";
  return ratio > MOST_TIMES ? `over ${MOST_TIMES}×` : `${figure(ratio)}×`;
}

export function figure(value: number): string {
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value >= 1 ? value.toFixed(2) : value.toPrecision(2);
}
