import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { trickedPaths } from "../../test/rules/path-tricks.ts";
import { sampleRule } from "../../test/rules/sample-rule.ts";
import { RequestError } from "../checks/request-error.ts";
import { Catalogue } from "./catalogue.ts";
import { piecesOf, requireReadable } from "./endpoint.ts";
import { matchEveryReading } from "./path-readings.ts";
import { readPattern } from "./pattern.ts";
import { PatternTrie } from "./trie.ts";

function catalogueOf(...patterns: readonly string[]): Catalogue {
  return Catalogue.of(
    patterns.map((endpoint_pattern, i) => sampleRule({ rule_id: `${i}`, name: endpoint_pattern, endpoint_pattern })),
  );
}

function matched(catalogue: Catalogue, endpoint: string): string[] {
  return catalogue
    .limitsFor({ dimension: "user", endpoint, userData: undefined }, 0)
    .map(({ config }) => config.endpoint_pattern);
}

function isRefused(endpoint: string): boolean {
  try {
    requireReadable(endpoint);
    return false;
  } catch (error) {
    if (error instanceof RequestError) return true;
    throw error;
  }
}

const PROTECTED = catalogueOf("/orders2");
const isCounted = (endpoint: string): boolean => matched(PROTECTED, endpoint).length > 0;

describe("a protected path", () => {
  it.each([
    // Backslashes as text, decoded first: nginx.
    "/x%5cy%2f../orders2",
    "/x\\y%2f../orders2",
    // Backslashes as slashes: URL parsers, IIS.
    "/x\\..\\orders2",
    "/x%5c..%5corders2",
    "\\orders2",
    // Dot segments, before and after decoding.
    "/./orders2",
    "/x/../orders2",
    "/x/%2e%2e/orders2",
    "/x/.%2E/orders2",
    "/x%2f..%2forders2",
    "/x/y/..//../orders2",
    "/x//../orders2",
    "/../../orders2",
    "/orders2/.",
    "/orders2/x/..",
    "/b%2fc/../x%2f../orders2",
    // Double encoding.
    "/x%252f..%252forders2",
    "/x/%252e%252e/orders2",
    "/%256frders2",
    "/x%255c..%255corders2",
    "/%25%36%66rders2",
    // Path parameters.
    "/orders2;a=b",
    "/orders2;",
    "/x/..;/orders2",
    "/x/..;a=b/orders2",
    "/;a=b/orders2",
    "/orders2;a%2fb",
    "/orders2;/../x",
    "/x/..%3b/orders2",
    "/x;y/../orders2;z",
    // Absolute form, and what URL parsers take for a host.
    "http://host/orders2",
    "HTTPS://user@host:8443/x/../orders2",
    "http:\\\\host\\orders2",
    "//host/orders2",
    "/\\host/orders2",
    "///host/orders2",
    "http:/orders2",
    // Trailing dots and spaces.
    "/orders2.",
    "/orders2...",
    "/orders2%20",
    "/orders2 ",
    "/orders2.%20.",
    "/orders2%0a",
    "/orders2%c2%a0",
    "/x/..%20/orders2",
    "/x/.../orders2",
    " /orders2",
    // Slashes, query, fragment.
    "//orders2",
    "/orders2//",
    "orders2",
    "/orders2?x",
    "/orders2#x",
    "/orders2#/../x",
    "/x#/../orders2",
    "/orders2%23x",
    "/orders2%3fx=/y",
    "/ord\ters2",
    "/x/.\n./orders2",
    "/%6F%72%64%65%72%73%32",
  ])("counts %j", (endpoint) => {
    expect(isRefused(endpoint)).toBe(false);
    expect(isCounted(endpoint)).toBe(true);
  });

  it.each([
    "/orders",
    "/orders22",
    "/Orders2",
    "/orders2/x",
    "/x/orders2",
    "/x%2forders2",
    "/orders2%2fx",
    "/orders2/%2e%2e",
    "/.orders2",
    "/x;orders2",
    "/100%25",
    "/orders2%25",
    "/%20orders2",
    "/x?/orders2",
    "/x?/../orders2",
    "/host/orders2",
    "/http:/orders2",
    "/orders2/..",
    "/caf%C3%A9/orders2",
  ])("does not count %j", (endpoint) => {
    expect(isRefused(endpoint)).toBe(false);
    expect(isCounted(endpoint)).toBe(false);
  });

  it.each([
    "/orders2%00",
    "/orders2\0",
    "/orders2%2500x",
    "/100%",
    "/%zz",
    "/%u002forders2",
    "/%2",
    "/%c0%afx/../orders2",
    "/%ff",
    "/%ed%a0%80",
  ])("is out of reach of %j, which is refused", (endpoint) => {
    expect(isRefused(endpoint)).toBe(true);
  });
});

describe("valid paths", () => {
  it.each([
    ["/a;v=1", ["/*", "/a", "/a;v=1"]],
    ["/100%25", ["/*", "/100%"]],
    ["/100%25?x=%zz%00", ["/*", "/100%"]],
    ["/caf%C3%A9", ["/*", "/café"]],
    ["/a b", ["/*", "/a b"]],
    ["/a%20b", ["/*", "/a b"]],
    ["/a%2Fb", ["/*", "/a/**", "/a/b"]],
    ["/readme.", ["/*", "/readme."]],
  ])("%j are counted under the rules written for them", (endpoint, patterns) => {
    const all = ["/*", "/a", "/a;v=1", "/100%", "/café", "/a b", "/a/**", "/a/b", "/readme.", "/x"];
    const found = matched(catalogueOf(...all), endpoint);
    if (endpoint.startsWith("/a;")) patterns = [...patterns, "/a/**"];
    expect(isRefused(endpoint)).toBe(false);
    expect(found.sort()).toEqual([...patterns].sort());
  });
});

describe("every combination of tricks", () => {
  it("is counted under the rule, or refused", () => {
    fc.assert(
      fc.property(trickedPaths("/orders2"), (endpoint) => isRefused(endpoint) || isCounted(endpoint)),
      { numRuns: 10_000 },
    );
  });
});

/** Servers, each in the plainest way: which parts they see, or undefined if they refuse. */
const split = (path: string): string[] => path.split("/").filter((part) => part !== "");
const decode = (text: string): string => decodeURIComponent(text);
const resolve = (parts: readonly string[]): string[] => {
  const resolved: string[] = [];
  for (const part of parts) {
    if (part === "..") resolved.pop();
    else if (part !== ".") resolved.push(part);
  }
  return resolved;
};
const beforeQuery = (target: string): string => target.split("?")[0];
const beforeFragment = (target: string): string => target.split(/[?#]/)[0];
const withoutParameters = (path: string): string => path.replace(/;[^/]*/g, "");
const windows = (parts: readonly string[]): string[] =>
  parts.map((part) => (/^\.{1,2}$/.test(part) ? part : part.replace(/[. ]+$/, ""))).filter((part) => part !== "");

const SERVERS: Readonly<Record<string, (target: string) => string[]>> = {
  "a router that decodes each part": (t) => split(beforeQuery(t)).map(decode),
  "the URL standard": (t) => split(new URL(`http://host${t.startsWith("/") ? "" : "/"}${t}`).pathname).map(decode),
  "the URL standard, relative to a base": (t) => split(new URL(t, "http://base").pathname).map(decode),
  nginx: (t) => resolve(split(decode(beforeFragment(t)))),
  Go: (t) => resolve(split(decode(beforeQuery(t)))),
  WSGI: (t) => split(decode(beforeQuery(t))),
  "IIS and ASP.NET": (t) => windows(resolve(split(decode(beforeQuery(t)).replaceAll("\\", "/")))),
  Tomcat: (t) => resolve(split(decode(withoutParameters(beforeQuery(t))))),
  "parameters after decoding": (t) => resolve(split(withoutParameters(decode(beforeQuery(t))))),
  "Fastify 4": (t) => split(t.split(/[?;#]/)[0]).map(decode),
  "decoded twice": (t) => resolve(split(decode(decode(beforeQuery(t))))),
  "nginx, then a router that decodes again": (t) => resolve(split(decode(beforeFragment(t)))).map(decode),
  "dots resolved, then decoded": (t) => resolve(split(decode(`/${resolve(split(beforeQuery(t))).join("/")}`))),
  "the URL standard, then nginx": (t) =>
    resolve(split(decode(new URL(`http://host${t.startsWith("/") ? "" : "/"}${t}`).pathname))),
};

const path = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("/", "/", "\\", "%2f", "%5C", "%252f", "//") },
      { weight: 4, arbitrary: fc.constantFrom("a", "b", "%61", "%2562", "c.", "a%20") },
      { weight: 3, arbitrary: fc.constantFrom("..", ".", "%2e", "%2e%2E", ".%2e", "%252e") },
      { weight: 2, arbitrary: fc.constantFrom(";", ";a", "#", "%23", "%3f", "?", " ", "\t", "%3b") },
    ),
    { maxLength: 16 },
  )
  .map((pieces) => `/${pieces.join("")}`);

describe.each(Object.entries(SERVERS))("what reaches %s", (_, partsOf) => {
  const patterns = [
    "/",
    "/a",
    "/b",
    "/a/b",
    "/b/a",
    "/*/b",
    "/a/*",
    "/*/*/a",
    "/c./a",
    "/c/a",
    "/a/**",
    "/a/b/**",
    "/**",
  ];
  const catalogue = catalogueOf(...patterns);
  const plain = new PatternTrie<string>();
  for (const pattern of patterns) plain.add(readPattern(pattern), pattern);

  it("is counted under every rule that matches it there", () => {
    fc.assert(
      fc.property(path, (target) => {
        if (isRefused(target)) return;
        let parts: string[];
        try {
          parts = partsOf(target);
        } catch {
          return;
        }
        expect(matched(catalogue, target)).toEqual(expect.arrayContaining(plain.match(parts)));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a path that can be read in one way", () => {
  it("is counted under the rules that match it, and no others", () => {
    const names = fc.array(fc.constantFrom("a", "b", "c-d", "e.f", "_", "~", "g:h", "x@y", "a,b=1&2"), {
      maxLength: 5,
    });
    const wild = fc.array(fc.constantFrom("a", "b", "*", "e.f", "c-d"), { maxLength: 4 });
    const pattern = fc
      .tuple(wild, fc.boolean())
      .map(([parts, open]) => `/${[...parts, ...(open ? ["**"] : [])].join("/")}`);
    fc.assert(
      fc.property(fc.uniqueArray(pattern, { maxLength: 12 }), names, (patterns, parts) => {
        const trie = new PatternTrie<string>();
        for (const each of patterns) trie.add(readPattern(each), each);
        const expected = trie.match(parts).sort();
        const endpoint = `/${parts.join("/")}`;
        expect(matched(catalogueOf(...patterns), endpoint).sort()).toEqual(expected);
        expect(matchEveryReading(trie, piecesOf(endpoint)).sort()).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("an endpoint with many readings", () => {
  it("is refused if it has more parts than any path needs", () => {
    expect(isRefused("/a".repeat(64))).toBe(false);
    expect(isRefused("/a".repeat(65))).toBe(true);
    expect(isRefused("/a%2f%5c\\%252F".repeat(13))).toBe(true);
    expect(isRefused(`/a?${"/a".repeat(4_000)}`)).toBe(false);
  });

  it("finds what is below a path, however far above it the path began", () => {
    const deep = "/d".repeat(30);
    const catalogue = catalogueOf("/a/b/**", "/a/b", "/**");
    expect(matched(catalogue, `/a/b${deep}${"/..".repeat(30)}`)).toContain("/a/b");
    expect(matched(catalogue, `/a/b${deep}${"/..".repeat(29)}`)).not.toContain("/a/b");
    expect(matched(catalogue, `/a/b${deep}/%2e`)).toEqual(["/**", "/a/b/**"]);
  });

  it("takes steps that grow with its pieces and not with its readings", () => {
    // Each piece doubles or triples the number of readings.
    const tries = ["/..;x", "/..%2f", "/a%2f..;x\\", "%5c..", "/.%20", "/..//"];
    for (const piece of tries) {
      const endpoint = piece.repeat(Math.floor(60 / (piece.match(/\/|%2f|%5c|\\/g)?.length ?? 1)));
      expect(matched(catalogueOf("/**", "/*/b", "/a/*/c/**", "/x"), endpoint)).toContain("/**");
    }
  });

  it("is refused if following them takes too many steps under the rules in force", () => {
    const mixed = (parts: number): string[] =>
      Array.from({ length: 2 ** parts }, (_, i) =>
        Array.from({ length: parts }, (_, bit) => ((i >> bit) & 1 ? "/a" : "/*")).join(""),
      );
    const many = catalogueOf(...mixed(10));
    const tricky = `/${"a/..;%2f".repeat(30)}`;
    const refusal = new RequestError("endpoint", "is too ambiguous: send a normalized path");
    expect(() => matched(many, tricky)).toThrow(refusal);
    expect(matched(many, `${"/x%2f../a".repeat(3)}${"/a".repeat(7)}`)).toHaveLength(1_024);
    expect(matched(catalogueOf("/a", "/*"), tricky)).toEqual(["/*", "/a"]);
  });

  it("is refused if it wanders through the parts of ordinary rules", () => {
    const names = Array.from({ length: 55 }, (_, i) => `users${i}`);
    const rules = names.flatMap((name, i) => [
      `/api/v1/${name}/*`,
      `/api/v1/${name}/*/${names[(i + 1) % names.length]}`,
    ]);
    const catalogue = catalogueOf(...rules);
    const wandering = (count: number): string =>
      `/api%5cv1%5c${names
        .slice(0, count)
        .map((name) => `${name}%5c..;%5c.;%5c..%5c`)
        .join("")}`;
    expect(() => matched(catalogue, wandering(14))).toThrow(RequestError);
    expect(matched(catalogue, `${wandering(3)}users0/7`)).toContain("/api/v1/users0/*");
  });
});
