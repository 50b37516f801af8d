import type { AlgorithmRun, TimedCost } from "headgate-simulator";

const WIDTH = 600;
const HEIGHT = 40;
const COLUMNS = 120;
const MINUTE_US = 60_000_000;

/** How many requests an algorithm admitted and denied, in columns of half a second. */
export function DecisionStrip({
  run,
  requests,
}: {
  readonly run: AlgorithmRun;
  readonly requests: readonly TimedCost[];
}) {
  const admitted = new Array<number>(COLUMNS).fill(0);
  const denied = new Array<number>(COLUMNS).fill(0);
  for (const [i, { time }] of requests.entries()) {
    const column = Math.min(COLUMNS - 1, Math.floor((time / MINUTE_US) * COLUMNS));
    (run.allowed[i] ? admitted : denied)[column] += 1;
  }
  const most = Math.max(1, ...admitted.map((count, i) => count + denied[i]));
  const width = WIDTH / COLUMNS;
  const bars = (counts: readonly number[], base: readonly number[] | undefined): string =>
    counts
      .map((count, i) => {
        const bottom = HEIGHT - ((base?.[i] ?? 0) / most) * HEIGHT;
        const height = (count / most) * HEIGHT;
        return count === 0 ? "" : `M${i * width} ${bottom}v${-height}h${width - 1}v${height}z`;
      })
      .join("");
  const label = `${run.admitted} admitted, ${run.denied} denied`;
  return (
    <svg class="strip" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={`M0 ${HEIGHT - 0.5}h${WIDTH}`} stroke="var(--line)" />
      <path d={bars(admitted, undefined)} fill="var(--allowed)" />
      <path d={bars(denied, admitted)} fill="var(--denied)" fill-opacity="0.75" />
    </svg>
  );
}
