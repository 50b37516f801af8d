const WIDTH = 120;
const HEIGHT = 28;

/** A small plot of two counts, one above the other, without axes. */
export function Sparkline({
  allowed,
  denied,
  label,
}: {
  readonly allowed: readonly number[];
  readonly denied: readonly number[];
  readonly label: string;
}) {
  const all = allowed.map((value, i) => value + (denied[i] ?? 0));
  const most = Math.max(1, ...all);
  const width = WIDTH / Math.max(1, all.length);
  const bar = (values: readonly number[], base: readonly number[]) =>
    values
      .map((value, i) => {
        const height = (value / most) * HEIGHT;
        const bottom = HEIGHT - ((base[i] ?? 0) / most) * HEIGHT;
        return value === 0 ? "" : `M${i * width} ${bottom}v${-height}h${Math.max(0.8, width - 0.6)}v${height}z`;
      })
      .join("");
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={`M0 ${HEIGHT - 0.5}h${WIDTH}`} stroke="var(--line)" />
      <path d={bar(allowed, [])} fill="var(--accent)" fill-opacity="0.55" />
      <path d={bar(denied, allowed)} fill="var(--denied)" />
    </svg>
  );
}
