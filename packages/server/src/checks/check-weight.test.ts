import { expect, it } from "vitest";
import { weightOf } from "./check-weight.ts";

it.each([
  ["/", 1],
  ["", 1],
  [`?${"x".repeat(300)}`, 1],
  ["/".padEnd(256, "a"), 1],
  ["/".padEnd(257, "a"), 2],
  ["/".padEnd(8_192, "a"), 32],
  [`/a?${"x".repeat(8_000)}`, 1],
  [`${"/".padEnd(640, "a")}?${"x".repeat(7_000)}`, 3],
])("an endpoint is weighed by the length of its path: %#", (endpoint, weight) => {
  expect(weightOf(endpoint)).toBe(weight);
});
