import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainParts } from "./endpoint.fast.ts";
import { piecesOf } from "./endpoint.ts";
import { matchEveryReading } from "./path-readings.ts";
import { readPattern } from "./pattern.ts";
import { PatternTrie } from "./trie.ts";

describe("an endpoint that can be read in one way", () => {
  it.each([
    ["", ""],
    ["/", ""],
    ["/api/v1/orders", "api v1 orders"],
    ["api/v1/orders", "api v1 orders"],
    ["/api///v1/orders//", "api v1 orders"],
    ["/api/v1/orders?next=/admin/..%2f;x#y", "api v1 orders"],
    ["/API/v1", "API v1"],
    ["/.well-known/..x/a..b", ".well-known ..x a..b"],
    ["/__proto__/constructor", "__proto__ constructor"],
    ["/headgate.v1.RateLimiter/Check", "headgate.v1.RateLimiter Check"],
  ])("%j has the parts %j", (endpoint, parts) => {
    expect(plainParts(endpoint)?.join(" ")).toBe(parts);
  });

  it.each(["/a/.", "/a/..", "/a.", "/a%20b", "/a\\b", "/a;b", "/a#b", "/a b", "/é", "//a", "http://a/b", "/a\tb"])(
    "%j is not one of them",
    (endpoint) => {
      expect(plainParts(endpoint)).toBeUndefined();
    },
  );

  it("has one part more than any pattern, whatever comes after", () => {
    const most = Array.from({ length: 33 }, (_, i) => `p${i}`);
    expect(plainParts(`/${most.join("/")}/x/y`)).toEqual(most);
  });
});

describe("any endpoint with plain parts", () => {
  const characters = fc.constantFrom(..."abcdef./:?%;#\\ \té~");
  const endpoints = fc.oneof(
    fc
      .array(fc.constantFrom("a", "b", "", "e.f", "g:h", ".", "..", "http:"), { maxLength: 6 })
      .map((parts) => parts.join("/")),
    fc.string({ unit: characters, maxLength: 12 }),
  );
  const pattern = fc
    .tuple(fc.array(fc.constantFrom("a", "b", "*", "e.f"), { maxLength: 4 }), fc.boolean())
    .map(([parts, open]) => `/${[...parts, ...(open ? ["**"] : [])].join("/")}`);

  it("matches the patterns that it matches when all readings are followed", () => {
    fc.assert(
      fc.property(fc.uniqueArray(pattern, { minLength: 1, maxLength: 12 }), endpoints, (patterns, endpoint) => {
        const parts = plainParts(endpoint);
        if (parts === undefined) return;
        const trie = new PatternTrie<string>();
        for (const each of patterns) trie.add(readPattern(each), each);
        expect(trie.match(parts).sort()).toEqual(matchEveryReading(trie, piecesOf(endpoint)).sort());
      }),
      { numRuns: 3_000 },
    );
  });
});
