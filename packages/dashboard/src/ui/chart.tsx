import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useTheme } from "../layout/theme.ts";
import { rateText } from "./format.ts";

export interface ChartSeries {
  readonly name: string;
  /** The name of a colour in base.css, without the dashes. */
  readonly color: string;
  readonly values: readonly (number | null)[];
  readonly isFilled?: boolean;
  readonly isStepped?: boolean;
}

/** A plot of values over time. What it shows is also said in `summary`, for those who cannot see it. */
export function Chart({
  times,
  series,
  summary,
  height = 220,
  showsDays = false,
  from,
  to,
  xText,
  xSteps,
}: {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly summary: string;
  readonly height?: number;
  readonly showsDays?: boolean;
  readonly from?: number;
  readonly to?: number;
  /** How to write a place on the x axis. Default: as a time. */
  readonly xText?: (x: number) => string;
  /** How far the labels of the x axis may be apart, from the smallest distance. */
  readonly xSteps?: readonly number[];
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const { theme } = useTheme();
  const kinds = series.map(({ name, color }) => `${name} ${color}`).join();

  // The plot is made again only if its kind changes.
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const colors = getComputedStyle(document.documentElement);
    const color = (name: string): string => colors.getPropertyValue(`--${name}`).trim();
    const axis = {
      stroke: color("muted"),
      grid: { stroke: color("line"), width: 1 },
      ticks: { stroke: color("line"), width: 1, size: 4 },
      font: `11px ${colors.getPropertyValue("--font")}`,
    };
    const { stepped } = uPlot.paths;
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        cursor: { points: { size: 6 }, drag: { x: false, y: false } },
        scales: {
          x: { time: xText === undefined, range: (_, min, max) => [from ?? min, to ?? Math.max(max, min + 1)] },
          y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
        },
        axes: [
          {
            ...axis,
            // A line of text, or two with the day. The default leaves a gap below.
            size: xText === undefined ? 42 : 26,
            space: showsDays ? 70 : 60,
            ...(xText && { values: (_, values) => values.map(xText) }),
            ...(xSteps && { incrs: [...xSteps] }),
          },
          { ...axis, size: 52, values: (_, values) => values.map((value) => rateText(value)) },
        ],
        series: [
          {},
          ...series.map(({ name, color: colorName, isFilled = false, isStepped = false }) => ({
            label: name,
            stroke: color(colorName),
            width: 1.75,
            points: { show: false },
            ...(isStepped && stepped && { paths: stepped({ align: 1 }) }),
            ...(isFilled && { fill: `color-mix(in srgb, ${color(colorName)} 14%, transparent)` }),
          })),
        ],
      },
      dataOf(times, series),
      element,
    );
    plot.current = made;
    const follow = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    follow.observe(element);
    return () => {
      follow.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [kinds, theme, height, showsDays, from, to]);

  useEffect(() => {
    plot.current?.setData(dataOf(times, series));
  }, [times, series]);

  return (
    <figure>
      <div class="chart" ref={place} aria-hidden="true" />
      <figcaption class="visually-hidden">{summary}</figcaption>
    </figure>
  );
}

function dataOf(times: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])];
}
