import { Fraction } from "../fraction.ts";
import { type Expected, laterOf, type Model } from "./model.ts";

/** Tokens that drip in, and are taken out. `rate` is in tokens each microsecond. */
export class TokenBucketModel implements Model {
  private readonly burst: Fraction;
  private readonly rate: Fraction;
  private tokens: Fraction;
  private latest: bigint | undefined;

  constructor(burst: Fraction, rate: Fraction) {
    this.burst = burst;
    this.rate = rate;
    this.tokens = burst;
  }

  take(now: bigint, cost: bigint): Expected {
    const time = laterOf(now, this.latest);
    const elapsed = Fraction.of(time - (this.latest ?? time));
    const tokens = this.tokens.plus(elapsed.times(this.rate)).atMost(this.burst);
    const wanted = Fraction.of(cost);
    const allowed = !wanted.isMoreThan(tokens);
    const left = allowed ? tokens.minus(wanted) : tokens;
    if (allowed && cost > 0n) {
      this.tokens = left;
      this.latest = time;
    }
    const lag = time - now;
    const untilTokens = (amount: Fraction): bigint => lag + amount.minus(left).over(this.rate).ceiling();
    return {
      allowed,
      remaining: left,
      retryAfter: allowed ? 0n : wanted.isMoreThan(this.burst) ? "never" : untilTokens(wanted),
      resetAfter: this.burst.isMoreThan(left) ? untilTokens(this.burst) : 0n,
    };
  }
}

export { drains as tenUnits } from "./ten-units.ts";
