import { expect, it } from "vitest";
import { sampleRule } from "../../test/rules/sample-rule.ts";
import { rulesOfFile } from "./file-rules.ts";

const THEN = new Date("2026-01-01T00:00:00Z");
const NOW = new Date("2026-02-02T00:00:00Z");

function input(rule_id: string, limit: number) {
  const { created_at, updated_at, version, ...rest } = sampleRule({ rule_id, limit });
  return rest;
}

it("gives another version to the rules of a file that have changed, and to no others", () => {
  const before = rulesOfFile([input("a", 1), input("b", 2)], [], THEN);
  const after = rulesOfFile([input("a", 1), input("b", 3), input("c", 4)], before, NOW);
  expect(after[0]).toBe(before[0]);
  expect(after[1]).toEqual({ ...before[1], limit: 3, version: 2, updated_at: NOW.toISOString() });
  expect(after[2]).toMatchObject({ rule_id: "c", version: 1, created_at: NOW.toISOString() });
});
