import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { integerText, parseDictionary, parseList, printable, stringText } from "./structured-field.ts";

describe("a structured string", () => {
  it.each([
    ["api", '"api"'],
    ['say "hi"', '"say \\"hi\\""'],
    ["back\\slash", '"back\\\\slash"'],
    ["", '""'],
  ])("of %s is %s", (value, text) => {
    expect(stringText(value)).toBe(text);
  });

  it("has what is not printable percent-encoded, and the percent sign with it", () => {
    expect(printable("naïve €")).toBe("na%C3%AFve %E2%82%AC");
    expect(printable("100%\r\nSet-Cookie: x")).toBe("100%25%0D%0ASet-Cookie: x");
    expect(printable("\ud800\0\x7f")).toBe("%EF%BF%BD%00%7F");
  });

  it("reads back as it was, whatever the text, and two texts never become one", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
        const [item] = parseList(stringText(printable(a))) ?? [];
        expect(item.bare).toEqual({ type: "string", value: printable(a) });
        expect(decodeURIComponent(printable(a))).toBe(a);
        expect(printable(a) === printable(b)).toBe(a === b);
      }),
    );
  });
});

describe("a structured integer", () => {
  it("has 15 digits at most, and no fraction", () => {
    expect(integerText(99.9)).toBe("99");
    expect(integerText(2 ** 53 - 1)).toBe("999999999999999");
  });
});

describe("a list", () => {
  it("is read with the parameters of its items", () => {
    expect(parseList('"permin";q=50;w=60,"perhr"; q=1000;  w=3600')).toEqual([
      { bare: { type: "string", value: "permin" }, parameters: parameters({ q: 50, w: 60 }) },
      { bare: { type: "string", value: "perhr" }, parameters: parameters({ q: 1000, w: 3600 }) },
    ]);
  });

  it("may have items of every type", () => {
    const items = parseList('a/b:c, "s", 1, -1.5, ?0, :cGs=:, @1659578233, %"f%c3%bc", 7;flag;k=tok') ?? [];
    expect(items.map(({ bare }) => bare)).toEqual([
      { type: "token", value: "a/b:c" },
      { type: "string", value: "s" },
      { type: "integer", value: 1 },
      { type: "decimal", value: -1.5 },
      { type: "boolean", value: false },
      { type: "bytes", value: "cGs=" },
      { type: "date", value: 1659578233 },
      { type: "display", value: "f%c3%bc" },
      { type: "integer", value: 7 },
    ]);
    expect(items[8].parameters).toEqual(
      new Map([
        ["flag", { type: "boolean", value: true }],
        ["k", { type: "token", value: "tok" }],
      ]),
    );
  });

  it("may be empty", () => {
    expect(parseList("")).toEqual([]);
    expect(parseList("  ")).toEqual([]);
  });

  it.each([
    '"open',
    '"a" "b"',
    '"a",',
    '"a",,"b"',
    '"a";Q=1',
    '"a";q=',
    '"ä"',
    '"a\\n"',
    "1234567890123456",
    "1.2345",
    "1.",
    "(1 2)",
    "?2",
    ":a",
    "\t1",
    "=",
  ])("is refused as a whole if malformed: %s", (text) => {
    expect(parseList(text)).toBeUndefined();
  });

  it("takes time in proportion to its length: else this would not end", () => {
    expect(parseList(`"${"\\\\".repeat(1_000_000)}`)).toBeUndefined();
    expect(parseList('"a";b,'.repeat(300_000))).toBeUndefined();
    expect(parseList(`a${" ".repeat(1_000_000)}b`)).toBeUndefined();
  });
});

describe("a dictionary", () => {
  it("is read by its keys, the last of a name counting", () => {
    const members = parseDictionary("limit=10, remaining=1;x, flag, limit=20") ?? new Map();
    expect([...members].map(([key, { bare }]) => [key, bare.value])).toEqual([
      ["limit", 20],
      ["remaining", 1],
      ["flag", true],
    ]);
  });

  it.each(["limit=", '"a"', "a=1 b=2", "A=1"])("is refused if malformed: %s", (text) => {
    expect(parseDictionary(text)).toBeUndefined();
  });
});

function parameters(numbers: Record<string, number>): Map<string, unknown> {
  return new Map(Object.entries(numbers).map(([key, value]) => [key, { type: "integer", value }]));
}
