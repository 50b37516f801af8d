import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Pattern, readPattern } from "./pattern.ts";
import { PatternTrie } from "./trie.ts";

function trieOf(patterns: readonly string[]): PatternTrie<string> {
  const trie = new PatternTrie<string>();
  for (const pattern of patterns) trie.add(readPattern(pattern), pattern);
  return trie;
}

/** The same question asked of one pattern, in the plainest way. */
function matches({ parts, open }: Pattern, path: readonly string[]): boolean {
  const isLongEnough = open ? path.length >= parts.length : path.length === parts.length;
  return isLongEnough && parts.every((part, i) => part === null || part === path[i]);
}

// Few names, so that patterns and paths meet often.
const name = fc.constantFrom("a", "b", "c");
const path = fc.array(name, { maxLength: 5 });
const pattern = fc
  .tuple(fc.array(fc.oneof(name, fc.constantFrom("*", ":x", ":y")), { maxLength: 5 }), fc.boolean())
  .map(([parts, open]) => `/${[...parts, ...(open ? ["**"] : [])].join("/")}`);

describe("a trie of patterns", () => {
  it.each([
    ["a b", ["/**", "/a/**", "/*/b", "/:x/b", "/a/b/**", "/a/b"]],
    ["a", ["/**", "/a/**"]],
    ["b c", ["/**"]],
    ["a b c d", ["/**", "/a/**", "/a/b/**"]],
  ])("finds all that match %s", (parts, expected) => {
    const trie = trieOf(["/**", "/a/**", "/*/b", "/:x/b", "/a/b", "/a/b/**", "/a/b/c", "/"]);
    expect(trie.match(parts.split(" "))).toEqual(expected);
  });

  it("finds the root, and what is open at it", () => {
    expect(trieOf(["/", "/**", "/*", "/a"]).match([])).toEqual(["/**", "/"]);
  });

  it("finds what a plain matcher finds", () => {
    fc.assert(
      fc.property(fc.uniqueArray(pattern, { maxLength: 30 }), path, (patterns, parts) => {
        const expected = patterns.filter((text) => matches(readPattern(text), parts));
        expect(trieOf(patterns).match(parts).sort()).toEqual(expected.sort());
      }),
      { numRuns: 2_000 },
    );
  });

  it("finds the patterns that match whatever another one matches", () => {
    const paths = allPaths(["a", "b", "c", "d"], 4);
    const short = pattern.filter((text) => readPattern(text).parts.length <= 3);
    fc.assert(
      fc.property(fc.uniqueArray(short, { maxLength: 8 }), short, (patterns, inner) => {
        const read = readPattern(inner);
        const matched = paths.filter((parts) => matches(read, parts));
        const expected = patterns.filter((text) => matched.every((parts) => matches(readPattern(text), parts)));
        expect(trieOf(patterns).match(read.parts, read.open).sort()).toEqual(expected.sort());
      }),
      { numRuns: 500 },
    );
  });

  it("takes no longer for patterns that nearly match in every way", () => {
    const wild = (i: number) => Array.from({ length: 12 }, (_, bit) => (i & (1 << bit) ? "*" : "a"));
    const trie = trieOf(Array.from({ length: 4096 }, (_, i) => `/${[...wild(i), "end"].join("/")}`));
    // Time of the processor, which other work on the machine does not change.
    const before = process.cpuUsage();
    expect(trie.match(Array(50_000).fill("a"))).toEqual([]);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5_000);
  });

  it("takes a path of any length", () => {
    const parts = Array(1_000_000).fill("a");
    expect(trieOf(["/**", "/a/a/*"]).match(parts)).toEqual(["/**"]);
  });
});

/** Names beyond those of the patterns represent all segments that no pattern contains. */
function allPaths(names: readonly string[], length: number): string[][] {
  if (length === 0) return [[]];
  const shorter = allPaths(names, length - 1);
  const longest = shorter.filter((parts) => parts.length === length - 1);
  return [...shorter, ...longest.flatMap((parts) => names.map((part) => [...parts, part]))];
}
