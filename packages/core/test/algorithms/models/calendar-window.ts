import type { Calendar } from "../../../src/limits/calendar.ts";
import { Fraction } from "../fraction.ts";
import { type Admission, unitsWhere } from "./admissions.ts";
import { oracleWindow } from "./calendar-oracle.ts";
import { type Expected, laterOf, type Model } from "./model.ts";

/** Remembers every admission, and counts those of the window of the calendar that the time is in. */
export class CalendarWindowModel implements Model {
  private readonly limit: bigint;
  private readonly calendar: Calendar;
  private readonly admissions: Admission[] = [];

  constructor(limit: number, calendar: Calendar) {
    this.limit = BigInt(limit);
    this.calendar = calendar;
  }

  take(now: bigint, cost: bigint): Expected {
    const time = laterOf(now, this.admissions.at(-1)?.time);
    const { unit, timeZone, anchorDay } = this.calendar;
    const window = oracleWindow(unit, timeZone, anchorDay, Math.floor(Number(time) / 1000));
    const [start, end] = [BigInt(window[0]) * 1000n, BigInt(window[1]) * 1000n];
    const before = unitsWhere(this.admissions, (admitted) => admitted >= start && admitted < end);
    const allowed = before + cost <= this.limit;
    const count = allowed ? before + cost : before;
    if (allowed && cost > 0n) this.admissions.push({ time, units: cost });
    return {
      allowed,
      remaining: Fraction.of(this.limit - count),
      retryAfter: allowed ? 0n : cost > this.limit ? "never" : end - now,
      resetAfter: count > 0n ? end - now : 0n,
    };
  }
}
