import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { InvalidInput } from "../failure.ts";
import { ObjectStream } from "./object-stream.ts";
import type { endOfValue } from "./scan.ts";

/** How many characters the scanner was given to look at. */
const work = vi.hoisted(() => ({ characters: 0 }));
vi.mock("./scan.ts", async (original) => {
  const scan = await original<{ endOfValue: typeof endOfValue }>();
  const counted: typeof endOfValue = (text, at, depth) => {
    work.characters += text.length - at;
    return scan.endOfValue(text, at, depth);
  };
  return { ...scan, endOfValue: counted };
});

type Wanted = "whole" | "elements";

/** Reads an object from pieces of the given sizes, which repeat. */
function read(text: string, sizes: readonly number[], wanted: Wanted = "elements"): Map<string, unknown> {
  const members = new Map<string, unknown>();
  let latest = "";
  const stream = new ObjectStream("text", {
    member: (name) => {
      latest = name;
      members.set(name, []);
      return wanted;
    },
    value: (name, value) => members.set(name, value),
    element: (value, index) => {
      const elements = members.get(latest) as unknown[];
      expect(index).toBe(elements.length);
      elements.push(value);
    },
  });
  const bytes = Buffer.from(text);
  for (let at = 0, i = 0; at < bytes.length; i += 1) {
    const size = sizes[i % sizes.length];
    stream.write(bytes.subarray(at, at + size));
    at += size;
  }
  stream.end();
  return members;
}

function parse(text: string): Map<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? new Map(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}

function outcome(text: string, sizes: readonly number[]): Map<string, unknown> | undefined {
  try {
    return read(text, sizes);
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });
const documents = fc
  .tuple(
    fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary", maxDepth: 4 })),
    fc.constantFrom(undefined, 1, "\t", "\r\n "),
  )
  .map(([value, indent]) => JSON.stringify(value, null, indent));
const marks = fc.constantFrom(...`{}[]",:\\/ \n\u0000-+.0123eEutrfalsn`, "😀");

describe("in pieces of any size", () => {
  test("it reads what JSON.parse reads", () => {
    fc.assert(
      fc.property(documents, sizes, fc.constantFrom<Wanted>("whole", "elements"), (text, pieces, wanted) => {
        expect(read(text, pieces, wanted)).toEqual(parse(text));
      }),
      { numRuns: 500 },
    );
  });

  test("it refuses what JSON.parse refuses, and nothing else", () => {
    const position = fc.double({ min: 0, max: 1, noNaN: true });
    const edit = fc.tuple(position, fc.nat({ max: 2 }), fc.oneof(fc.constant(""), marks));
    fc.assert(
      fc.property(documents, fc.array(edit, { minLength: 1, maxLength: 2 }), sizes, (document, edits, pieces) => {
        let text = document;
        for (const [where, cut, mark] of edits) {
          const at = Math.floor(where * text.length);
          // Half a surrogate pair has no UTF-8: it would reach the stream as another character.
          text = Buffer.from(text.slice(0, at) + mark + text.slice(at + cut)).toString();
        }
        expect(outcome(text, pieces)).toEqual(parse(text));
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("the fault is at the first character that cannot be there", () => {
  test.each([
    ["", 1, 1],
    ["  \n ", 2, 2],
    ["x", 1, 1],
    [`{"a": 1,}`, 1, 9],
    [`{"a": 01}`, 1, 8],
    [`{"a": -}`, 1, 8],
    [`{"a": 1.}`, 1, 9],
    [`{"a": 1e+}`, 1, 10],
    [`{"a": .5}`, 1, 7],
    [`{"a": +1}`, 1, 7],
    [`{"a": NaN}`, 1, 7],
    [`{"a": tru}`, 1, 10],
    [`{"a": "\\x"}`, 1, 9],
    [`{"a": "\\u12g4"}`, 1, 12],
    [`{"a": "\n"}`, 1, 8],
    [`{'a': 1}`, 1, 2],
    [`{"a" 1}`, 1, 6],
    [`{"a": [1 2]}`, 1, 10],
    [`{"a": [1,]}`, 1, 10],
    [`{"a": {"b": ]}}`, 1, 13],
    [`{"a": [}`, 1, 8],
    [`{"é😀": x}`, 1, 8],
    [`{\r\n"a": 1\r\n"b": 2}`, 3, 1],
    [`{"a": 1}}`, 1, 9],
    [`{"a": 1} {}`, 1, 10],
    [`{"a": "b`, 1, 9],
    [`{"a": 1`, 1, 8],
    [`{"a": [[1], x`, 1, 13],
  ])("%j at line %i, column %i", (text, line, column) => {
    for (const size of [1, 2, 3, 1000]) {
      expect(() => read(text, [size])).toThrow(`text: line ${line}, column ${column}: `);
    }
  });
});

test("a stopped stream looks at nothing more", () => {
  const seen: unknown[] = [];
  const stream = new ObjectStream("text", {
    member: () => "whole",
    value: (_name, value) => {
      seen.push(value);
      stream.stop();
    },
    element: () => {},
  });
  stream.write(Buffer.from(`{"a": 1, "b": 2, nonsense`));
  stream.end();
  expect(seen).toEqual([1]);
});

test("a value many pieces long is not scanned from its start with each of them", () => {
  const length = 1_000_000;
  const text = JSON.stringify({ long: "x".repeat(length) });
  work.characters = 0;
  expect(read(text, [4096]).get("long")).toHaveLength(length);
  // With each of the 245 pieces it would be 120 times its length.
  expect(work.characters).toBeGreaterThanOrEqual(length);
  expect(work.characters).toBeLessThan(4 * length);
});

test("bytes that are not UTF-8 are refused where they are", () => {
  const stream = () => new ObjectStream("text", { member: () => "whole", value: () => {}, element: () => {} });
  for (const bad of [[0xff], [0xc3, 0x28], [0xe2, 0x82, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0x80]]) {
    const bytes = Buffer.concat([Buffer.from(`{\n"é😀": "`), Buffer.from(bad), Buffer.from(`"}`)]);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const reader = stream();
      expect(() => {
        reader.write(bytes.subarray(0, cut));
        reader.write(bytes.subarray(cut));
        reader.end();
      }).toThrow("text: line 2, column 8: expected UTF-8 text");
    }
  }
  const reader = stream();
  reader.write(Buffer.from([0x7b, 0x7d, 0xe2, 0x82]));
  expect(() => reader.end()).toThrow("text: line 1, column 3: expected UTF-8 text");
});
