const DAY_MS = 86_400_000;

/** Local time differs from UTC by less than this. */
const FARTHEST_MS = 16 * 3_600_000;

const known = new Map<string, TimeZone>();

/** An IANA time zone, with the data of the runtime. Times are milliseconds since the epoch. */
export class TimeZone {
  /** As it was stated. */
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;

  private constructor(name: string) {
    this.name = name;
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** Throws a RangeError if there is no such zone. */
  static named(name: string): TimeZone {
    // Some runtimes accept offsets such as +01:00, which are not zones.
    if (!/^[A-Za-z]/.test(name)) throw new RangeError(`${name} is not a time zone`);
    const zone = known.get(name) ?? new TimeZone(name);
    known.set(name, zone);
    return zone;
  }

  /** How far local time is ahead of UTC, in milliseconds. */
  offsetAt(time: number): number {
    const fields: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
    for (const { type, value } of this.#format.formatToParts(time)) fields[type] = value;
    const { year, month, day, hour, minute, second } = fields;
    const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
    return local - Math.floor(time / 1000) * 1000;
  }

  /** The local date, as the number of days since January 1, 1970. */
  dayAt(time: number): number {
    return Math.floor((time + this.offsetAt(time)) / DAY_MS);
  }
}

/**
 * When a local day starts: the first time that clocks show midnight. If they are set forward over midnight, that is the
 * moment at which they are.
 */
export function startOfDay(zone: TimeZone, day: number): number {
  const midnight = day * DAY_MS;
  const before = zone.offsetAt(midnight - FARTHEST_MS);
  const after = zone.offsetAt(midnight + FARTHEST_MS);
  // The larger offset is the earlier time.
  const readings = [midnight - Math.max(before, after), midnight - Math.min(before, after)];
  const found = readings.find((time) => time + zone.offsetAt(time) === midnight);
  return found ?? changeBetween(zone, readings[0], readings[1]);
}

/** The first second at which the offset is not that of `from`. */
function changeBetween(zone: TimeZone, from: number, to: number): number {
  const offset = zone.offsetAt(from);
  let low = from / 1000;
  let high = to / 1000;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zone.offsetAt(middle * 1000) === offset) low = middle;
    else high = middle;
  }
  return high * 1000;
}
