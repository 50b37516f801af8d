import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyIndex } from "./key-index.ts";

/** Any sequence of code units, of which some are not valid Unicode. */
const names = fc
  .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0, max: 0xffff })), { maxLength: 12 })
  .map((units) => String.fromCharCode(...units));

describe("an index of keys", () => {
  it("numbers keys in the order in which they first come, and knows their names", () => {
    fc.assert(
      fc.property(fc.array(names, { maxLength: 200 }), (keys) => {
        const index = new KeyIndex();
        const different = [...new Set(keys)];
        expect(keys.map((key) => index.numberOf(key))).toEqual(keys.map((key) => different.indexOf(key)));
        expect(different.map((_, number) => index.nameOf(number))).toEqual(different);
        expect(index.size).toBe(different.length);
      }),
    );
  });

  it("grows to many keys, also such as are longer than a page of names", () => {
    const index = new KeyIndex();
    const keys = Array.from({ length: 30_000 }, (_, i) => (i % 10_000 === 7 ? `${i}`.repeat(300_000) : `client-${i}`));
    for (const key of keys) index.numberOf(key);
    expect(keys.every((key, i) => index.numberOf(key) === i)).toBe(true);
    expect(keys.every((key, i) => index.nameOf(i) === key)).toBe(true);
  });

  it("distinguishes keys of which one is a prefix of the other", () => {
    const index = new KeyIndex();
    expect(["a", "ab", "", "a\u0000", "a"].map((key) => index.numberOf(key))).toEqual([0, 1, 2, 3, 0]);
  });
});
