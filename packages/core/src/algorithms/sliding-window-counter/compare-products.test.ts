import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { expect, it } from "vitest";
import { compareProducts } from "./compare-products.ts";

const MOST = Number.MAX_SAFE_INTEGER;
const integers = fc.oneof(
  fc.nat({ max: 100 }),
  fc.integer({ min: 0, max: MOST }),
  fc.integer({ min: MOST - 1_000, max: MOST }),
  fc.nat({ max: 53 }).map((exponent) => Math.min(MOST, 2 ** exponent)),
);

function expectExact(a: number, b: number, c: number, d: number): void {
  const difference = BigInt(a) * BigInt(b) - BigInt(c) * BigInt(d);
  const sign = difference > 0n ? 1 : difference < 0n ? -1 : 0;
  expect(Math.sign(compareProducts(a, b, c, d))).toBe(sign);
}

it("compares any two products of integers as BigInt does", patience, () => {
  fc.assert(fc.property(integers, integers, integers, integers, expectExact), runs(5_000));
});

it("compares products that are equal, or differ only beyond what a double holds", patience, () => {
  const nudges = fc.integer({ min: -2, max: 2 });
  const property = fc.property(integers, integers, nudges, nudges, (a, b, first, second) => {
    const near = (value: number, by: number): number => Math.max(0, Math.min(MOST, value + by));
    expectExact(a, b, near(b, first), near(a, second));
    expectExact(a, b, near(a, first), near(b, second));
  });
  fc.assert(property, runs(5_000));
});

it("tells apart what doubles cannot", () => {
  expect((2 ** 53 - 1) ** 2).toBe((2 ** 53 - 2) * 2 ** 53);
  expect(compareProducts(2 ** 53 - 1, 2 ** 53 - 1, 2 ** 53 - 2, 2 ** 53)).toBeGreaterThan(0);
});
