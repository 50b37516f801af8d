import { Fraction } from "../fraction.ts";
import { type Admission, unitsWhere } from "./admissions.ts";
import { type Expected, laterOf, type Model } from "./model.ts";

/** Remembers every admission for ever, and counts those that are younger than the window. */
export class SlidingWindowLogModel implements Model {
  private readonly limit: bigint;
  private readonly window: bigint;
  private readonly admissions: Admission[] = [];

  constructor(limit: number, window: number) {
    this.limit = BigInt(limit);
    this.window = BigInt(window);
  }

  take(now: bigint, cost: bigint): Expected {
    const time = laterOf(now, this.admissions.at(-1)?.time);
    const allowed = this.usedAt(time) + cost <= this.limit;
    if (allowed && cost > 0n) this.admissions.push({ time, units: cost });
    const used = this.usedAt(time);
    const passes = (later: bigint): boolean => this.usedAt(later) + cost <= this.limit;
    const youngest = this.admissions.at(-1)?.time ?? 0n;
    return {
      allowed,
      remaining: Fraction.of(this.limit - used),
      retryAfter: allowed ? 0n : cost > this.limit ? "never" : this.firstLeaving(passes) - now,
      resetAfter: used > 0n ? youngest + this.window - now : 0n,
    };
  }

  private usedAt(time: bigint): bigint {
    return unitsWhere(this.admissions, (admitted) => admitted > time - this.window);
  }

  /** Nothing changes but when an admission leaves, so no other instant need be tried. */
  private firstLeaving(passes: (time: bigint) => boolean): bigint {
    const leaving = this.admissions.map(({ time }) => time + this.window);
    return leaving.find(passes) ?? -1n;
  }
}

export { leavesAtOnce as tenUnits } from "./ten-units.ts";
