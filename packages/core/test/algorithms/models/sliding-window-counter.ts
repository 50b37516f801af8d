import { Fraction, floorDivide } from "../fraction.ts";
import { type Admission, firstTime, unitsWhere } from "./admissions.ts";
import { type Expected, laterOf, type Model } from "./model.ts";
import type { TenUnits } from "./ten-units.ts";

const ONE = Fraction.of(1);

/** Remembers every admission, counts it by its window, and finds waits by trying instants. */
export class SlidingWindowCounterModel implements Model {
  private readonly limit: bigint;
  private readonly window: bigint;
  private readonly admissions: Admission[] = [];

  constructor(limit: number, window: number) {
    this.limit = BigInt(limit);
    this.window = BigInt(window);
  }

  take(now: bigint, cost: bigint): Expected {
    const time = laterOf(now, this.admissions.at(-1)?.time);
    const passes = (later: bigint): boolean =>
      !this.estimateAt(later).plus(Fraction.of(cost)).isMoreThan(Fraction.of(this.limit));
    const allowed = passes(time);
    const twoWindowsOn = time + 2n * this.window;
    const retry = allowed || cost > this.limit ? 0n : firstTime(time, twoWindowsOn, passes) - now;
    if (allowed && cost > 0n) this.admissions.push({ time, units: cost });
    const isUnused = (later: bigint): boolean => this.estimateAt(later).numerator === 0n;
    return {
      allowed,
      remaining: Fraction.of(this.limit).minus(this.estimateAt(time)),
      retryAfter: !allowed && cost > this.limit ? "never" : retry,
      resetAfter: isUnused(time) ? 0n : firstTime(time, twoWindowsOn, isUnused) - now,
    };
  }

  private estimateAt(time: bigint): Fraction {
    const number = floorDivide(time, this.window);
    const position = Fraction.of(time - number * this.window, this.window);
    return ONE.minus(position)
      .times(this.unitsIn(number - 1n))
      .plus(this.unitsIn(number));
  }

  private unitsIn(number: bigint): Fraction {
    return Fraction.of(unitsWhere(this.admissions, (admitted) => floorDivide(admitted, this.window) === number));
  }
}

export const tenUnits: TenUnits = {
  resetAfterFour: 20_000_000,
  // In the next window, 4 units have faded to 3 after a quarter of it, and 12 to 9.
  retryAfterSeven: 12_500_000,
  retryAfterTwelve: 12_500_000,
};
