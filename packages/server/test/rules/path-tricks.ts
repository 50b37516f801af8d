import fc from "fast-check";

// Each of these changes how a path is written, and leaves some server, or some chain of servers, with the same path.
const junk = fc.constantFrom("x", "y.z", "x;y", "%41", "x%2fy", "x\\y", "x%5cy", "é", "a b", "...", "x%252f");
const encoded = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
const slash = fc.constantFrom("/", "/", "%2f", "%2F", "\\", "%5c", "%252f", "%255C", "//", "/\\");
const up = fc.constantFrom("..", "%2e%2e", ".%2E", "..;", "..;x=y", "%252e%252e", "..%20", "..%3b", "..%2e");
const nothing = fc.constantFrom(".", "%2e", "", ";", ";a=b", ".;", "%252e", ".%20");

type Trick = (path: string) => string;
const unslashed = (path: string): string => path.replace(/^(?:[/\\]|%(?:25)?(?:2f|5c))/i, "");

/** At a place between two parts: the path begins with one of them. */
const detour: fc.Arbitrary<Trick> = fc.tuple(junk, slash, up, slash).map(
  ([name, first, dots, second]) =>
    (path) =>
      `/${name}${first}${dots}${second}${unslashed(path)}`,
);
const nothings: fc.Arbitrary<Trick> = fc.tuple(nothing, slash).map(
  ([none, after]) =>
    (path) =>
      `/${none}${after}${unslashed(path)}`,
);
const above: fc.Arbitrary<Trick> = fc.tuple(up, slash).map(
  ([dots, after]) =>
    (path) =>
      `/${dots}${after}${unslashed(path)}`,
);
const behind: fc.Arbitrary<Trick> = fc.tuple(slash, junk, slash, up).map(
  ([first, name, second, dots]) =>
    (path) =>
      `${path}${first}${name}${second}${dots}`,
);
const ending: fc.Arbitrary<Trick> = fc
  .constantFrom(
    ";",
    ";a=b",
    ";a;b=c",
    ".",
    "..%20",
    "%20",
    " ",
    "%09",
    "/",
    "//",
    "/.",
    "%2f",
    "\\",
    "/;x",
    "%252f",
    "/%2e",
  )
  // Dots after a slash would be a step up.
  .map((end) => (path) => (end.startsWith(".") && /(?:[/\\.]|%..)$/.test(path) ? path : path + end));
const escaped: fc.Arbitrary<Trick> = fc.nat(20).map((at) => (path) => {
  // Escapes stay whole: one within another would be a third encoding.
  const characters = path.match(/%25..|%..|[\s\S]/g) ?? [];
  return characters.map((each, i) => (i === at && /^[a-z0-9]$/.test(each) ? encoded(each) : each)).join("");
});
const twice: fc.Arbitrary<Trick> = fc.constant((path) => path.replace(/%(?!25)/g, "%25"));
const leading: fc.Arbitrary<Trick> = fc
  .constantFrom("/", "\\", "//", "%2f", "%5c")
  .map((lead) => (path) => lead + unslashed(path));

const last: fc.Arbitrary<Trick> = fc
  .constantFrom("", "", "?x=%00", "?/../x", "#", "#/../x", "%23/x", "%3fx", ";/x/y")
  .map((end) => (path) => path + end);
const target: fc.Arbitrary<Trick> = fc
  .constantFrom("", "", "", "http://host", "https://u:p@host:1", "//host", "/\\host", "HTTP:\\\\host")
  .map((before) => (path) => before + path);

/** A path of one part, written in ways that some server still reads as that path. */
export function trickedPaths(path: string): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.array(fc.oneof(detour, nothings, above, behind, ending, escaped, leading), { maxLength: 6 }),
      fc.oneof({ weight: 4, arbitrary: fc.constant((path: string) => path) }, twice),
      last,
      target,
    )
    .map(([some, again, end, before]) => before(end(again(some.reduce((each, trick) => trick(each), path)))));
}
