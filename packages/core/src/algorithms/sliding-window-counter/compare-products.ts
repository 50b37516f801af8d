const EXACT = 2 ** 53;
const SPLITTER = 2 ** 27 + 1;

/** The sign of a × b − c × d for integers up to 2^53, exact where the products themselves are not. */
export function compareProducts(a: number, b: number, c: number, d: number): number {
  const left = a * b;
  const right = c * d;
  if (left !== right || left <= EXACT) return left - right;
  return roundingOf(a, b, left) - roundingOf(c, d, right);
}

/** What `a * b` lost by being rounded to `product` (Dekker's product). */
function roundingOf(a: number, b: number, product: number): number {
  const aHigh = highHalf(a);
  const bHigh = highHalf(b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

function highHalf(value: number): number {
  const spread = SPLITTER * value;
  return spread - (spread - value);
}
