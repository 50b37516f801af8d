import { type Action, algorithms, limitFromSpec, MemoryStore } from "headgate";
import { ManualClock } from "headgate/testing";
import type { RecordedRequest } from "headgate-simulator";
import { describe, expect, it } from "vitest";
import type { RateLimitRule } from "../../api/types.ts";
import { withEarlier } from "./level-history.ts";
import { levelsBefore } from "./levels-before.ts";

const NOW = 1_767_225_600_000;
/** No algorithm has a field of its own. */
const NONE = Object.fromEntries(
  Object.values(algorithms).flatMap(({ fields }) => Object.keys(fields).map((name) => [name, null])),
);
const FIELDS: Partial<RateLimitRule> = { rule_id: "api", algorithm: "token_bucket", limit: 60, window_seconds: 60 };
const RULE = { ...NONE, ...FIELDS } as RateLimitRule;

/** What a store did, some seconds before now, and what it reported every two seconds. */
function past(rule: RateLimitRule, calls: readonly (readonly [number, Action, number])[]) {
  const { algorithm, limit: units } = rule;
  const limit = limitFromSpec({ algorithm, limit: units, window: 60 });
  const clock = new ManualClock(NOW - 300_000);
  const store = new MemoryStore({ clock });
  const entries: RecordedRequest[] = [];
  const seen: { time: number; used: number }[] = [];
  const left = [...calls].sort((a, b) => b[0] - a[0]);
  const apply = (action: Action, cost: number) =>
    store.apply(action, [{ rule: { name: "api", limit }, key: "k", cost }])[0];
  for (let ago = 300; ago >= 0; ago -= 0.5) {
    clock.set(NOW - ago * 1000);
    while (left[0]?.[0] === ago) {
      const [, action, cost] = left.shift() ?? [0, "peek", 1];
      const { allowed, remaining } = apply(action, cost);
      const request = { time: clock.now(), key: "k", action: action as RecordedRequest["action"], cost };
      entries.push({ ...request, answer: { allowed, remaining } });
    }
    const used = limit.burst - Math.floor(apply("peek", 1).remaining);
    if (entries.length > 0 && ago % 2 === 0) seen.push({ time: clock.now(), used });
  }
  const current_count = seen.pop()?.used ?? 0;
  const now = { limit: rule.limit, burst: limit.burst, origin: "rule" as const, current_count };
  return { request: { kind: "levels" as const, rule, now, at: NOW, entries }, seen };
}

const CALLS = [
  [250, "take", 30],
  [249.5, "take", 29],
  [120, "take", 50],
  [119.5, "take", 20],
  [100.5, "reset", 0],
  [20, "penalize", 40],
  [1.5, "take", 10],
] as const;

describe("levels before the screen was opened", () => {
  it("are those that the store reported", () => {
    for (const algorithm of ["token_bucket", "fixed_window", "sliding_window_log", "gcra"] as const) {
      const { request, seen } = past({ ...RULE, algorithm }, CALLS);
      expect(seen).toHaveLength(125);
      expect(levelsBefore(request)).toEqual(seen);
    }
  });

  it("are those under the limit of the user", () => {
    const { request, seen } = past({ ...RULE, limit: 90 }, CALLS);
    expect(levelsBefore({ ...request, rule: RULE })).toBeUndefined();
    const now = { ...request.now, origin: "override" as const };
    expect(levelsBefore({ ...request, rule: RULE, now })).toEqual(seen);
  });

  it("are left out if they do not lead to what the service says now, as if other nodes had answered since", () => {
    const { request } = past(RULE, CALLS);
    const { current_count } = request.now;
    expect(levelsBefore({ ...request, now: { ...request.now, current_count: current_count + 5 } })).toBeUndefined();
    expect(levelsBefore({ ...request, entries: [] })).toBeUndefined();
    expect(levelsBefore({ ...request, entries: request.entries.slice(0, -1) })).toBeUndefined();
    // The clock of the store differs from that of the service.
    expect(levelsBefore({ ...request, at: NOW + 900 })).toBeDefined();
  });

  it("come before those that were seen", () => {
    const api = { rule_id: "api", current_count: 0 };
    const all = { rule_id: "all", current_count: 0 };
    const seen = [{ at: NOW, levels: [{ ...api, current_count: 3 }] }];
    const level = (ago: number, used: number) => ({ at: NOW - ago, used });
    const earlier = [
      { limit: api, levels: [level(2_000, 2), level(0, 9)] },
      { limit: all, levels: [level(400_000, 5), level(4_000, 1), level(2_000, 1)] },
    ];
    expect(withEarlier(earlier, seen)).toEqual([
      { at: NOW - 4_000, levels: [{ ...all, current_count: 1 }] },
      {
        at: NOW - 2_000,
        levels: [
          { ...api, current_count: 2 },
          { ...all, current_count: 1 },
        ],
      },
      ...seen,
    ]);
  });
});
