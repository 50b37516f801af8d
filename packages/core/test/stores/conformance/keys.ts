import { describe, expect, it } from "vitest";
import { ask, type MakeStore, remaining, rule, withStore } from "./context.ts";
import { DIGITS, longRate, subjects } from "./subjects.ts";

/** Strings that other limiters have mixed up, lost or choked on. */
const hostile: readonly string[] = [
  "",
  " ",
  "a",
  "A",
  "a:b",
  "a:b:c",
  "{x}",
  "x",
  "{",
  "}",
  "{}",
  "a{x}b",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "0",
  "-1",
  "NaN",
  "null",
  "undefined",
  "*",
  "?",
  "%",
  "%3A",
  "\\",
  "\\0",
  "\0",
  "\0\0",
  "a\0",
  "a\0b",
  "\n",
  "\r\n",
  // The same text to the eye: one letter, and a letter with an accent that combines.
  "é",
  "e\u0301",
  "ÿ",
  "Ā",
  "👍",
  "👍🏽",
  "👨‍👩‍👧",
  // Halves of surrogate pairs: written as UTF-8, all of them turn into the last one.
  "\ud800",
  "\ud801",
  "\udc00",
  "\udc00\ud800",
  "\ufffd",
  "x".repeat(10_000),
  `${"x".repeat(9_999)}y`,
  "x".repeat(1_000_000),
  `y${"x".repeat(999_999)}`,
  "é".repeat(10_000),
  "\ud800".repeat(10_000),
];

/** Any string is a key, and no two share a quota. */
export function keys(makeStore: MakeStore): void {
  describe.each(subjects)("$name: keys", ({ make }) => {
    const limit = make(longRate(100));

    it("are apart, whatever is in them", () =>
      withStore(makeStore, async ({ store }) => {
        const each = rule("each", limit);
        for (const [i, key] of hostile.entries()) {
          expect(await ask(store, "take", each, key, i + 1)).toMatchObject({ allowed: true });
        }
        const left = [];
        for (const key of hostile) left.push(Math.round(await remaining(store, each, key)));
        expect(left).toEqual(hostile.map((_, i) => 99 - i));
      }));

    it("are apart under two rules", () =>
      withStore(makeStore, async ({ store }) => {
        const one = rule("one", limit);
        const other = rule("other", limit);
        for (const key of hostile) {
          await ask(store, "take", one, key, 100);
          expect(await remaining(store, other, key)).toBe(100);
          expect(await remaining(store, one, key)).toBeCloseTo(0, DIGITS);
        }
      }));

    it.each([
      { one: ["a:b", "c"], other: ["a", "b:c"] },
      { one: ["a", ":b"], other: ["a:", "b"] },
      { one: ["", "a"], other: ["a", ""] },
      { one: ["{a}", "b"], other: ["a", "{b}"] },
      { one: ["a\0", "b"], other: ["a", "\0b"] },
      { one: ["__proto__", "constructor"], other: ["constructor", "__proto__"] },
      { one: ["\ud83d", "\udc4d"], other: ["", "👍"] },
    ])("do not run into the rule's name: $one and $other", ({ one, other }) =>
      withStore(makeStore, async ({ store }) => {
        await ask(store, "take", rule(one[0], limit), one[1], 100);
        expect(await remaining(store, rule(other[0], limit), other[1])).toBe(100);
        expect(await remaining(store, rule(one[0], limit), one[1])).toBeCloseTo(0, DIGITS);
      }),
    );

    it("are reset one at a time", () =>
      withStore(makeStore, async ({ store }) => {
        const each = rule("each", limit);
        const some = ["a", "b", "{a}", "__proto__", "\ud800", "\ud801"];
        for (const key of some) await ask(store, "take", each, key, 60);
        await ask(store, "reset", each, "\ud800");
        const left = [];
        for (const key of some) left.push(Math.round(await remaining(store, each, key)));
        expect(left).toEqual([40, 40, 40, 40, 100, 40]);
      }));
  });
}
