import { describe, expect, test } from "vitest";
import { KEY_LENGTH, KeyStrings } from "./key-strings.ts";
import { uniformSequence, zipfSequence } from "./sequences.ts";

const KEYS = 1000;
const LENGTH = 2 ** 18;

describe("sequences", () => {
  test.each([uniformSequence, zipfSequence])("%O is the same each time", (sequence) => {
    expect(sequence(KEYS, 4096)).toEqual(sequence(KEYS, 4096));
  });

  test("uniform draws every key about as often", () => {
    const counts = countsOf(uniformSequence(KEYS, LENGTH));
    const mean = LENGTH / KEYS;
    expect(Math.min(...counts)).toBeGreaterThan(0.7 * mean);
    expect(Math.max(...counts)).toBeLessThan(1.3 * mean);
  });

  test("zipf draws the key of rank r with probability 1 / (r × the sum of all such)", () => {
    const counts = countsOf(zipfSequence(KEYS, LENGTH)).sort((a, b) => b - a);
    const sum = Array.from({ length: KEYS }, (_, i) => 1 / (i + 1)).reduce((a, b) => a + b);
    for (const rank of [1, 2, 3, 10]) {
      const expected = LENGTH / rank / sum;
      expect(counts[rank - 1]).toBeGreaterThan(0.95 * expected);
      expect(counts[rank - 1]).toBeLessThan(1.05 * expected);
    }
  });

  test("zipf scatters its ranks over the keys", () => {
    const counts = countsOf(zipfSequence(KEYS, LENGTH));
    expect(counts.indexOf(Math.max(...counts))).not.toBe(0);
  });
});

test("key strings are 20 characters each, all different", () => {
  const strings = new KeyStrings(KEYS);
  const keys = Array.from({ length: KEYS }, (_, i) => strings.make(i));
  expect(keys[0]).toBe("user:000000000000000");
  expect(keys[999]).toBe("user:000000007911081");
  expect(new Set(keys).size).toBe(KEYS);
  expect(keys.every((key) => key.length === KEY_LENGTH)).toBe(true);
});

function countsOf(sequence: Uint32Array): number[] {
  const counts = new Array<number>(KEYS).fill(0);
  for (const key of sequence) counts[key] += 1;
  return counts;
}
