/** Formats the figures of reports, the same everywhere. */

export function countText(count: number): string {
  return count.toLocaleString("en-US");
}

/** A share in percent, with two significant decimals for small ones. */
export function shareText(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0 %";
  const percent = (100 * part) / whole;
  if (percent > 99.9 && part < whole) return "> 99.9 %";
  return `${percent >= 1 ? Number(percent.toFixed(1)) : Number(percent.toPrecision(2))} %`;
}

/** A time in microseconds since the epoch: 2026-01-31 12:00:00. */
export function timeText(time: number): string {
  const iso = new Date(time / 1000).toISOString();
  return iso.slice(0, 19).replace("T", " ");
}

const UNITS: readonly (readonly [microseconds: number, unit: string])[] = [
  [86_400_000_000, "d"],
  [3_600_000_000, "h"],
  [60_000_000, "min"],
  [1_000_000, "s"],
  [1_000, "ms"],
];

/** A duration in microseconds in its largest two units: 1 h 5 min. */
export function durationText(duration: number): string {
  const first = UNITS.findIndex(([each]) => duration >= each);
  if (first < 0) return duration > 0 ? "< 1 ms" : "0 s";
  const [each, unit] = UNITS[first];
  const whole = Math.floor(duration / each);
  const [smaller, smallerUnit] = UNITS[first + 1] ?? [0, ""];
  const rest = smaller === 0 ? 0 : Math.floor((duration % each) / smaller);
  return rest === 0 || unit === "s" ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smallerUnit}`;
}
