import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import {
  aFunction,
  aName,
  milliseconds,
  oneOf,
  type Requirement,
  type Requirements,
  readOptions,
  trueOrFalse,
  wholeMilliseconds,
  wholeNumber,
} from "./options.ts";

interface Options {
  readonly size?: number | undefined;
  readonly mode?: "a" | "b" | undefined;
}

const requirements: Requirements<Options> = { size: wholeNumber(1, 10), mode: oneOf("a", "b") };

function messageOf(options: object, at?: string): string {
  return refusal(() => readOptions(options, requirements, at === undefined ? {} : { at })).message;
}

describe("readOptions", () => {
  it("returns the options, and takes undefined for an option that is absent", () => {
    const options: Options = { size: 3, mode: undefined };
    expect(readOptions(options, requirements)).toBe(options);
  });

  it("says which field is wrong, what was expected and what was given", () => {
    expect(messageOf({ size: 11 })).toBe("size: must be a whole number from 1 to 10, got 11");
    expect(messageOf({ size: null })).toBe("size: must be a whole number from 1 to 10, got null");
    expect(messageOf({ mode: "c" }, "nested.")).toBe('nested.mode: must be "a" or "b", got "c"');
  });

  it("rejects unknown names and lists the known ones", () => {
    expect(messageOf({ sise: 3 })).toBe("options.sise: is unknown (known: size, mode)");
    expect(messageOf({ sise: 3 }, "nested.")).toBe("nested.sise: is unknown (known: size, mode)");
  });

  it.each([null, 7, "text", []])("rejects %j instead of options", (options) => {
    expect(messageOf(options as unknown as object)).toMatch(/^options: must be an object \(known: size, mode\), got /);
  });
});

describe("a requirement", () => {
  it.each<[string, Requirement, readonly unknown[], readonly unknown[]]>([
    ["true or false", trueOrFalse, [true, false], [0, "true", null]],
    ["a function", aFunction, [() => {}], [{}, "f"]],
    ["a string that is not empty", aName, ["a"], ["", 1]],
    ["a whole number of at least 1", wholeNumber(1), [1, 2 ** 53 - 1], [0, 1.5, "1", Number.NaN, 2 ** 53, null]],
    ["a whole number from 1 to 3", wholeNumber(1, 3), [1, 3], [0, 4]],
    ["a number of milliseconds from 0 to 2147483647", milliseconds(0), [0, 0.5], [-1, 2 ** 31, Number.NaN, "1"]],
    ["a whole number of milliseconds from 5 to 9", wholeMilliseconds(5, 9), [5, 9], [4, 5.5, 10]],
    ['"a", "b" or "c"', oneOf("a", "b", "c"), ["a", "c"], ["d", 1, undefined]],
  ])("of %s", (expected, requirement, good, bad) => {
    for (const value of good) expect(() => requirement(value, "field")).not.toThrow();
    for (const value of bad) {
      expect(refusal(() => requirement(value, "field"))).toMatchObject({
        code: "HG_BAD_OPTION",
        field: "field",
        message: expect.stringContaining(`field: must be ${expected}, got `),
      });
    }
  });
});
