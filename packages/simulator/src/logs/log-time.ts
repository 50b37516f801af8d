/** Times as logs have them, in whole microseconds since the epoch; NaN if they are none. */

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Length of 10/Oct/2000:13:55:36 -0700. */
export const COMMON_TIME_LENGTH = 26;
const COMMON_TIME = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/;

/** The time of the common log format: 10/Oct/2000:13:55:36 -0700. */
export function commonTime(text: string): number {
  const [, day, month, year, hours, minutes, seconds, sign, zoneHours, zoneMinutes] = COMMON_TIME.exec(text) ?? [];
  const index = MONTHS.indexOf(month);
  if (index < 0) return Number.NaN;
  const local = Date.UTC(Number(year), index, Number(day), Number(hours), Number(minutes), Number(seconds));
  const zone = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === "-" ? -60_000 : 60_000);
  return (local - zone) * 1000;
}

const ISO_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d+))?\s*(Z|[+-]\d\d:?\d\d)?$/i;

/** A date and time of ISO 8601, by default in UTC. */
function isoTime(text: string): number {
  const [, date, time, fraction = "", zone = "Z"] = ISO_TIME.exec(text) ?? [];
  if (date === undefined) return Number.NaN;
  const seconds = Date.parse(`${date}T${time}${zone.replace(/^(...)(\d\d)$/, "$1:$2").toUpperCase()}`) * 1000;
  return seconds + Math.floor(Number(`0.${fraction}0`) * 1_000_000);
}

/** From these on, a number cannot be the time in seconds, milliseconds or microseconds. */
const [MILLISECONDS, MICROSECONDS, NANOSECONDS] = [1e11, 1e14, 1e17];

/** Seconds, milliseconds, microseconds or nanoseconds since the epoch, by their size. */
function numericTime(time: number): number {
  if (time < MILLISECONDS) return Math.round(time * 1_000_000);
  if (time < MICROSECONDS) return Math.round(time * 1000);
  return time < NANOSECONDS ? Math.round(time) : Math.round(time / 1000);
}

/** A time in any of these forms. */
export function timeOf(value: unknown): number {
  if (typeof value === "number") return numericTime(value);
  if (typeof value !== "string" || value === "") return Number.NaN;
  if (/^\d+(\.\d+)?$/.test(value)) return numericTime(Number(value));
  const iso = isoTime(value);
  return Number.isNaN(iso) ? commonTime(value) : iso;
}
