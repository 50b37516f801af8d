import { expect, it } from "vitest";
import { clockText, waitText } from "./format.ts";

it.each([
  [0.2, "1 ms"],
  [999, "999 ms"],
  [1_214, "1.3 s"],
  [9_910, "10 s"],
  [10_001, "11 s"],
  [90_000, "1.5 min"],
])("a wait of %d ms is %s: never shorter than it is", (ms, text) => {
  expect(waitText(ms)).toBe(text);
});

it("a time of a known day is without the day", () => {
  expect(clockText(new Date(2026, 4, 1, 10, 2, 3).getTime())).toMatch(/^10:02:03\sAM$/);
});
