/** A rational number in exact arithmetic: what the reference models count with. */
export class Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;

  private constructor(numerator: bigint, denominator: bigint) {
    const sign = denominator < 0n ? -1n : 1n;
    const common = sign * divisor(numerator, denominator);
    this.numerator = numerator / common;
    this.denominator = denominator / common;
  }

  static of(numerator: number | bigint, denominator: number | bigint = 1n): Fraction {
    return new Fraction(BigInt(numerator), BigInt(denominator));
  }

  /** The decimal that is written, not the double nearest to it. */
  static decimal(text: string): Fraction {
    const [whole = "", decimals = ""] = text.split(".");
    return Fraction.of(BigInt(whole + decimals), 10n ** BigInt(decimals.length));
  }

  plus(other: Fraction): Fraction {
    return new Fraction(
      this.numerator * other.denominator + other.numerator * this.denominator,
      this.denominator * other.denominator,
    );
  }

  minus(other: Fraction): Fraction {
    return this.plus(new Fraction(-other.numerator, other.denominator));
  }

  times(other: Fraction): Fraction {
    return new Fraction(this.numerator * other.numerator, this.denominator * other.denominator);
  }

  over(other: Fraction): Fraction {
    return new Fraction(this.numerator * other.denominator, this.denominator * other.numerator);
  }

  isMoreThan(other: Fraction): boolean {
    return this.numerator * other.denominator > other.numerator * this.denominator;
  }

  atLeast(other: Fraction): Fraction {
    return other.isMoreThan(this) ? other : this;
  }

  atMost(other: Fraction): Fraction {
    return this.isMoreThan(other) ? other : this;
  }

  floor(): bigint {
    return floorDivide(this.numerator, this.denominator);
  }

  ceiling(): bigint {
    return -floorDivide(-this.numerator, this.denominator);
  }

  /** To within a few units in the last place. */
  toNumber(): number {
    const whole = this.floor();
    const rest = this.numerator - whole * this.denominator;
    return Number(whole) + Number((rest * 2n ** 64n) / this.denominator) / 2 ** 64;
  }
}

export function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return quotient * b > a ? quotient - 1n : quotient;
}

function divisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}
