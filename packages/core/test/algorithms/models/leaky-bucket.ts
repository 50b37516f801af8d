import { Fraction } from "../fraction.ts";
import { type Expected, laterOf, type Model } from "./model.ts";

const ZERO = Fraction.of(0);

interface Queued extends Expected {
  /** How many units are in the queue, with this request. */
  readonly queuePosition: Fraction;
  /** How long those before it take to leave, in microseconds. */
  readonly delay: Fraction;
}

/** A bucket that requests pour into, and that drains at `rate` units each microsecond. */
export class LeakyBucketModel implements Model {
  private readonly size: Fraction;
  private readonly rate: Fraction;
  private level = ZERO;
  private latest: bigint | undefined;

  constructor(size: Fraction, rate: Fraction) {
    this.size = size;
    this.rate = rate;
  }

  take(now: bigint, cost: bigint): Queued {
    const time = laterOf(now, this.latest);
    const leaked = Fraction.of(time - (this.latest ?? time)).times(this.rate);
    const before = this.level.minus(leaked).atLeast(ZERO);
    const poured = before.plus(Fraction.of(cost));
    const allowed = !poured.isMoreThan(this.size);
    const level = allowed ? poured : before;
    if (allowed && cost > 0n) {
      this.level = level;
      this.latest = time;
    }
    const untilLeaked = (amount: Fraction): bigint => time - now + amount.over(this.rate).ceiling();
    const never = Fraction.of(cost).isMoreThan(this.size);
    return {
      allowed,
      remaining: this.size.minus(level),
      retryAfter: allowed ? 0n : never ? "never" : untilLeaked(poured.minus(this.size)),
      resetAfter: level.isMoreThan(ZERO) ? untilLeaked(level) : 0n,
      queuePosition: level,
      delay: before.over(this.rate),
    };
  }
}

export { drains as tenUnits } from "./ten-units.ts";
