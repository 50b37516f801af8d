import { Fraction } from "../fraction.ts";
import { type Expected, laterOf, type Model } from "./model.ts";

/** Keeps the theoretical arrival time of the next unit, as the networks' definition does. */
export class GcraModel implements Model {
  /** The time that one unit is worth. */
  private readonly interval: Fraction;
  private readonly tolerance: Fraction;
  private arrival: Fraction | undefined;
  private latest: bigint | undefined;

  constructor(burst: Fraction, rate: Fraction) {
    this.interval = Fraction.of(1).over(rate);
    this.tolerance = burst.times(this.interval);
  }

  take(now: bigint, cost: bigint): Expected {
    const time = laterOf(now, this.latest);
    const present = Fraction.of(time);
    const arrival = (this.arrival ?? present).atLeast(present);
    const next = arrival.plus(Fraction.of(cost).times(this.interval));
    const allowed = !next.minus(present).isMoreThan(this.tolerance);
    const reached = allowed ? next : arrival;
    if (allowed && cost > 0n) {
      this.arrival = reached;
      this.latest = time;
    }
    const whole = this.tolerance.minus(reached.minus(present)).over(this.interval).floor();
    const never = Fraction.of(cost).times(this.interval).isMoreThan(this.tolerance);
    return {
      allowed,
      remaining: Fraction.of(whole),
      retryAfter: allowed ? 0n : never ? "never" : next.minus(this.tolerance).ceiling() - now,
      resetAfter: reached.isMoreThan(present) ? reached.ceiling() - now : 0n,
    };
  }
}

export { drains as tenUnits } from "./ten-units.ts";
