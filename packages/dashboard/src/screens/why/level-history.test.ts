import { describe, expect, it } from "vitest";
import { levelsOf, type Seen, withSeen } from "./level-history.ts";

const API = { rule_id: "api", current_count: 0 };

/** What came at a time, with the usage of the rule, and of its candidate. */
function seenAt(at: number, used: number, onTrial: number): Seen {
  const levels = [
    { ...API, current_count: used },
    { ...API, candidate: true as const, current_count: onTrial },
  ];
  return { at, levels };
}

describe("levels over the last minutes", () => {
  it("are at the times at which they came, whatever was missed in between, such as while the page was hidden", () => {
    const seen = [seenAt(1_000_000, 3, 1), seenAt(1_002_000, 4, 2), seenAt(1_100_000, 0, 0)];
    expect(levelsOf(seen, API)).toEqual({ times: [-100, -98, 0], used: [3, 4, 0] });
    expect(levelsOf(seen, { ...API, candidate: true }).used).toEqual([1, 2, 0]);
    expect(levelsOf(seen, { ...API, rule_id: "new" }).used).toEqual([null, null, null]);
  });

  it("go back five minutes", () => {
    let seen: readonly Seen[] = [];
    for (let at = 0; at <= 600_000; at += 2_000) seen = withSeen(seen, seenAt(at, 1, 1));
    expect(levelsOf(seen, API).times[0]).toBe(-298);
    expect(levelsOf(withSeen(seen, seenAt(2_000_000, 1, 1)), API).times).toEqual([0]);
  });
});
