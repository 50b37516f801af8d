/**
 * Logarithm, exponential function and cosine of basic arithmetic only. Those of `Math` may differ in the last digit
 * between engines, and then the same seed would not give the same traffic everywhere.
 */

const { LN2, PI, SQRT2 } = Math;

/** The natural logarithm of a number above 0. */
export function ln(value: number): number {
  let mantissa = value;
  let exponent = 0;
  // Exact, since only the exponent of the double changes.
  for (; mantissa >= SQRT2; exponent += 1) mantissa /= 2;
  for (; mantissa < SQRT2 / 2; exponent -= 1) mantissa *= 2;
  const ratio = (mantissa - 1) / (mantissa + 1);
  const square = ratio * ratio;
  let sum = 0;
  for (let power = 23; power >= 1; power -= 2) sum = sum * square + 1 / power;
  return 2 * ratio * sum + exponent * LN2;
}

/** e to the power of a number between -700 and 700. */
export function exp(power: number): number {
  const halvings = Math.round(power / LN2);
  const rest = power - halvings * LN2;
  let sum = 1;
  for (let n = 18; n >= 1; n -= 1) sum = 1 + (rest * sum) / n;
  for (let i = 0; i < halvings; i += 1) sum *= 2;
  for (let i = 0; i > halvings; i -= 1) sum /= 2;
  return sum;
}

/** The cosine of a number of turns: 1 at 0, -1 at 0.5, 1 again at 1. */
export function cosineOfTurns(turns: number): number {
  const half = (turns - Math.round(turns)) * PI;
  const square = half * half;
  let sine = 0;
  for (let n = 25; n >= 3; n -= 2) sine = (1 + sine) * (-square / (n * (n - 1)));
  sine = half * (1 + sine);
  return 1 - 2 * sine * sine;
}
