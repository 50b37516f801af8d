import type { CheckResult, LimitResult } from "../../src/checks/check.ts";

/** Results as checks give them, for tests. */
export function limitResult(parts: Partial<LimitResult>): LimitResult {
  return {
    rule_id: "orders",
    name: "Orders",
    mode: "enforce",
    allowed: true,
    limit: 10,
    window_seconds: 60,
    burst: 10,
    current_count: 1,
    remaining: 9,
    retry_after_ms: 0,
    reset_after_ms: 0,
    retry_at_ms: 0,
    reset_at_ms: 0,
    state: "normal",
    source: "store",
    degraded: false,
    from: "rule",
    ...parts,
  };
}

export function checkResult(parts: Partial<CheckResult>): CheckResult {
  return {
    allowed: true,
    decisive: parts.limits?.[0],
    limits: [],
    shadow: [],
    skew_ms: undefined,
    skewed: false,
    ...parts,
  };
}
