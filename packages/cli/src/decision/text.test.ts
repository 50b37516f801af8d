import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { floatText, roundedText } from "./number-text.ts";
import { stringText } from "./string-text.ts";

describe("as Python prints it", () => {
  test.each([
    [0, "0.0"],
    [-0, "0.0"],
    [4, "4.0"],
    [-1.5, "-1.5"],
    [1592171101.99, "1592171101.99"],
    [0.1 + 0.2, "0.30000000000000004"],
    [1e-7, "0.0000001"],
    [-1.25e-9, "-0.00000000125"],
    [1e21, "1000000000000000000000.0"],
    [1.5e300, `15${"0".repeat(299)}.0`],
  ])("%d is %s", (value, text) => {
    expect(floatText(value)).toBe(text);
  });

  test.each([
    [0.125, "0.12"],
    [0.375, "0.38"],
    [0.625, "0.62"],
    [0.875, "0.88"],
    [1.125, "1.12"],
    [1e6 + 0.625, "1000000.62"],
    [2.675, "2.67"],
    [0.005, "0.01"],
    [0.015, "0.01"],
    [0.025, "0.03"],
    [0.994, "0.99"],
    [0.995, "0.99"],
    [0.996, "1.0"],
    [0.001, "0.0"],
    [1 / 3, "0.33"],
    [4503599627370495.5, "4503599627370495.5"],
  ])("round(%d, 2) is %s", (value, text) => {
    expect(roundedText(value)).toBe(text);
  });

  test.each([
    ["alice", `"alice"`],
    [`"\\/`, String.raw`"\"\\/"`],
    ["\b\f\n\r\t\u0000\u001f\u007f", String.raw`"\b\f\n\r\t\u0000\u001f\u007f"`],
    ["é😀\u2028", String.raw`"\u00e9\ud83d\ude00\u2028"`],
    ["\udc00", String.raw`"\udc00"`],
  ])("%j", (value, text) => {
    expect(stringText(value)).toBe(text);
  });
});

test("rounding is by the exact binary value, ties to even", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.nat().map((n) => n / 8),
      ),
      (value) => {
        expect(Number(roundedText(value))).toBe(Number(hundredths(value)) / 100);
      },
    ),
  );
});

/** The nearest whole number of hundredths, in exact arithmetic: a double is a whole number of 2^-1074. */
function hundredths(value: number): bigint {
  let shift = 0;
  let scaled = value;
  for (; !Number.isInteger(scaled); shift += 1) scaled *= 2;
  const numerator = 100n * BigInt(scaled);
  const one = 1n << BigInt(shift);
  const whole = numerator / one;
  const twice = 2n * (numerator - whole * one);
  return twice > one || (twice === one && whole % 2n === 1n) ? whole + 1n : whole;
}

test("numbers and strings keep their meaning", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(floatText(value)).toMatch(/^-?\d+\.\d+$/);
      expect(Number(floatText(value))).toBe(value + 0);
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (value) => {
      expect(stringText(value)).toMatch(/^[ -~]*$/);
      expect(JSON.parse(stringText(value))).toBe(value);
    }),
  );
});
