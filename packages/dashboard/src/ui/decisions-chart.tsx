import { Chart } from "./chart.tsx";
import { countText, sum } from "./format.ts";
import type { EvenSeries } from "./usage-series.ts";

/** The periods that decisions can be shown for. */
export const PERIODS = [
  ["minute", "Last hour"],
  ["day", "Last 30 days"],
] as const;

/** Decisions over time. The legend has their totals. */
export function DecisionsChart({
  series: { times, allowed, denied, byTrial },
  period,
  about,
  height,
}: {
  readonly series: EvenSeries;
  readonly period: "minute" | "day";
  /** What the chart shows, for its summary in words. */
  readonly about?: string;
  readonly height?: number;
}) {
  const totals = [
    ["is-allowed", "Allowed", sum(allowed)],
    ["is-denied", "Denied", sum(denied)],
    ["is-trial", "Denied by trial", sum(byTrial)],
  ] as const;
  const texts = totals.map(([, name, count]) => `${name} ${count}`).join(", ");
  return (
    <>
      <ul class="legend">
        {totals.map(([kind, name, count]) => (
          <li key={kind} class={kind}>
            {name} {countText(count)}
          </li>
        ))}
      </ul>
      <Chart
        times={times}
        {...(height !== undefined && { height })}
        series={[
          { name: "Allowed", color: "allowed", values: allowed, isFilled: true },
          { name: "Denied", color: "denied", values: denied, isFilled: true },
          { name: "Denied by trial", color: "trial", values: byTrial },
        ]}
        showsDays={period === "day"}
        summary={about === undefined ? texts : `${about}: ${texts}.`}
      />
    </>
  );
}
