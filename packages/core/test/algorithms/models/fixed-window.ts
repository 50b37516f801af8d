import { Fraction, floorDivide } from "../fraction.ts";
import { type Admission, unitsWhere } from "./admissions.ts";
import { type Expected, laterOf, type Model } from "./model.ts";

/** Remembers every admission, and counts those of the window that the time is in. */
export class FixedWindowModel implements Model {
  private readonly limit: bigint;
  private readonly window: bigint;
  private readonly anchor: "clock" | "request";
  private readonly admissions: Admission[] = [];
  /** When the windows began that requests opened. */
  private readonly opened: bigint[] = [];

  constructor(limit: number, window: number, anchor: "clock" | "request") {
    this.limit = BigInt(limit);
    this.window = BigInt(window);
    this.anchor = anchor;
  }

  take(now: bigint, cost: bigint): Expected {
    const time = laterOf(now, this.admissions.at(-1)?.time);
    const start = this.startAt(time);
    const end = start + this.window;
    const before = unitsWhere(this.admissions, (admitted) => admitted >= start && admitted < end);
    const allowed = before + cost <= this.limit;
    const count = allowed ? before + cost : before;
    if (allowed && cost > 0n) {
      this.admissions.push({ time, units: cost });
      if (this.opened.at(-1) !== start) this.opened.push(start);
    }
    return {
      allowed,
      remaining: Fraction.of(this.limit - count),
      retryAfter: allowed ? 0n : cost > this.limit ? "never" : end - now,
      resetAfter: count > 0n ? end - now : 0n,
    };
  }

  private startAt(time: bigint): bigint {
    if (this.anchor === "clock") return floorDivide(time, this.window) * this.window;
    const open = this.opened.at(-1);
    return open !== undefined && time < open + this.window ? open : time;
  }
}

export { leavesAtOnce as tenUnits } from "./ten-units.ts";
