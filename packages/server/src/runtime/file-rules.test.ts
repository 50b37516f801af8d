import { expect, it } from "vitest";
import { sampleRule } from "../../test/rules/sample-rule.ts";
import { atOnce } from "../rules/cooperative-work.ts";
import { fileChange, readingOf, rulesOfFile } from "./file-rules.ts";

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

it("lists removed and added rules, a changed rule as both", () => {
  const before = rulesOfFile([input("a", 1), input("b", 2), input("c", 3)], [], THEN);
  const { gone, come, rules } = atOnce(readingOf([input("d", 4), input("b", 5), input("a", 1)], before, NOW));
  expect(rules.map(({ rule_id }) => rule_id)).toEqual(["d", "b", "a"]);
  expect(gone).toEqual([before[1], before[2]]);
  expect(come).toEqual([rules[0], rules[1]]);
  const same = atOnce(readingOf([input("c", 3), input("b", 2), input("a", 1)], before, NOW));
  expect([same.gone, same.come]).toEqual([[], []]);
});

it("is audited with the rules if they are few, else with all their ids, in as many entries as it takes", () => {
  const inputs = (count: number) => Array.from({ length: count }, (_, i) => input(`r${i}`, 1));
  const change = (count: number) => fileChange("f.yaml", atOnce(readingOf(inputs(count), [], NOW)), NOW);
  expect(change(0)).toMatchObject([{ action: "rules.file", after: { rules: 0, changed: [] } }]);
  expect(change(50)).toMatchObject([{ before: { rules: 0, changed: [] }, after: { rules: 50 } }]);
  expect(change(50)[0].after).toMatchObject({
    changed: expect.arrayContaining([expect.objectContaining({ limit: 1 })]),
  });
  expect(change(51)).toMatchObject([{ after: { changed: expect.arrayContaining(["r0", "r50"]) } }]);
  const parts = change(250).map(({ after }) => (after as { changed: string[] }).changed);
  expect(parts.map(({ length }) => length)).toEqual([100, 100, 50]);
  expect(new Set(parts.flat()).size).toBe(250);
});
