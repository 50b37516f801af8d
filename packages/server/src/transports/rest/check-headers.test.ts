import { describe, expect, it } from "vitest";
import type { CheckResult, LimitResult } from "../../checks/check.ts";
import { CheckHeaders } from "./check-headers.ts";

function limitResult(rule_id: string, remaining: number, fields: Partial<LimitResult> = {}): LimitResult {
  return {
    rule_id,
    name: rule_id,
    mode: "enforce",
    allowed: true,
    limit: 100,
    window_seconds: 60,
    burst: 100,
    current_count: 100 - remaining,
    remaining,
    retry_after_ms: 0,
    reset_after_ms: 60_000,
    retry_at_ms: 0,
    reset_at_ms: 60_000,
    state: "normal",
    source: "store",
    degraded: false,
    from: "rule",
    ...fields,
  };
}

function written(limits: readonly LimitResult[], decisive: LimitResult): Readonly<Record<string, string[]>> {
  const { allowed } = decisive;
  const result: CheckResult = { allowed, decisive, limits, shadow: [], skew_ms: undefined, skewed: false };
  const fields = new CheckHeaders().write(result);
  return Object.fromEntries(
    fields.map(({ name, value }) => [name.toLowerCase(), [...value.matchAll(/"([^"]*)"/g)].map(([, id]) => id)]),
  );
}

describe("the headers of a check", () => {
  it("state all of 16 limits in the order of the rules", () => {
    const limits = Array.from({ length: 16 }, (_, i) => limitResult(`r${i}`, 50 - i));
    const ids = limits.map(({ rule_id }) => rule_id);
    expect(written(limits, limits[15])).toMatchObject({ "ratelimit-policy": ids, ratelimit: ids });
  });

  it("state of more the one that decided and the 15 with the least left, in the same order", () => {
    const state = "warning";
    const limits = Array.from({ length: 40 }, (_, i) => limitResult(`r${i}`, i % 2 === 0 ? 90 : i, { state }));
    // Denied for its cost, though much is left.
    const decisive = limitResult("decisive", 99, { allowed: false, state, retry_after_ms: 30_000 });
    limits.splice(20, 0, decisive);
    const least = Array.from({ length: 15 }, (_, i) => `r${2 * i + 1}`);
    const ids = [...least.slice(0, 10), "decisive", ...least.slice(10)];
    expect(written(limits, decisive)).toMatchObject({
      "ratelimit-policy": ids,
      ratelimit: ids,
      "headgate-state": ids,
    });
  });
});
