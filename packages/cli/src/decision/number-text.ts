/** Formats numbers like Python's `json` formats floats, but never with an exponent. */

/** The shortest digits that identify the number, always with a decimal point. */
export function floatText(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return `${value}.0`; // also turns -0 into 0.0
  const text = String(value);
  return text.includes("e") ? withoutExponent(text) : text;
}

/** Rounds to 2 decimals like Python's `round`: by the exact binary value, ties to even. */
export function roundedText(value: number): string {
  if (Number.isInteger(value)) return floatText(value);
  return floatText(Number(isTie(value) ? tieToEven(value) : value.toFixed(2)));
}

/** Only eighths lie exactly between two hundredths. `toFixed` is exact for everything else, but rounds ties up. */
function isTie(value: number): boolean {
  return Number.isInteger(value * 8) && !Number.isInteger(value * 4);
}

function tieToEven(value: number): number {
  const below = Math.floor(value * 4) / 4;
  // Round half to even: .125 and .625 become .12 and .62; .375 and .875 become .38 and .88.
  return Number(((below * 2) % 1 === 0 ? below + 0.12 : below + 0.13).toFixed(2));
}

function withoutExponent(text: string): string {
  const [mantissa = "", exponent = "0"] = text.split("e");
  const [, sign = "", whole = "", decimals = ""] = /^(-?)(\d+)\.?(\d*)$/.exec(mantissa) ?? [];
  const digits = whole + decimals;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return `${sign}${digits.padEnd(point, "0").slice(0, point)}.${digits.slice(point) || "0"}`;
}
