const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const fraction = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const timeOnly = new Intl.DateTimeFormat("en", { timeStyle: "medium" });
const dateOnly = new Intl.DateTimeFormat("en", { dateStyle: "medium" });

/** All digits up to 99,999; after that rounded: 1.2M. */
export function countText(value: number): string {
  return value < 100_000 ? count.format(value) : compact.format(value);
}

export function keysText(keys: number): string {
  return keys === 1 ? "1 key" : `${countText(keys)} keys`;
}

/** A rate, with a digit after the point while it is small. */
export function rateText(value: number): string {
  return value < 100 ? fraction.format(value) : countText(value);
}

export function shareText(part: number, whole: number): string {
  if (whole === 0) return "0%";
  const share = part / whole;
  return share > 0 && share < 0.001 ? "<0.1%" : percent.format(share);
}

export function timeText(time: string | number): string {
  return dateTime.format(new Date(time));
}

/** Without the day. */
export function clockText(time: string | number): string {
  return timeOnly.format(new Date(time));
}

export function dateText(time: string | number): string {
  return dateOnly.format(new Date(time));
}

const UNITS = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
] as const;

/** A duration in its largest unit that fits: 90 → 1.5 min. */
export function durationText(seconds: number): string {
  const [size, name] = UNITS.find(([size]) => seconds >= size) ?? [1, "s"];
  return `${fraction.format(seconds / size)} ${name}`;
}

/** Time until something happens, from milliseconds. */
export function waitText(ms: number): string {
  if (ms < 1_000) return `${Math.ceil(ms)} ms`;
  return durationText(ms < 10_000 ? Math.ceil(ms / 100) / 10 : Math.ceil(ms / 1_000));
}

/** Such as 100 / min, or 100 per 90 s. */
export function limitText(limit: number, windowSeconds: number): string {
  const [, name] = UNITS.find(([size]) => size === windowSeconds) ?? [0, durationText(windowSeconds)];
  return `${countText(limit)} / ${name}`;
}

export function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** Within a sentence. */
export const DIMENSION_NAMES = { user: "user", ip: "IP address", apikey: "API key" } as const;
