import { type Decision, leakyBucket, type Source, tokenBucket, type UsageState, type Verdict } from "headgate";
import { decide } from "headgate/store";
import type { CheckResult } from "../../src/checks/check.ts";
import { type AppliedLimit, appliedLimit } from "../../src/rules/shared-counter.ts";
import { rule } from "./fixtures.ts";

/** A decision of the service under a limit, for tests. Times are whole microseconds. */
export interface DecidedLimit {
  readonly rule_id: string;
  readonly name: string;
  readonly allowed: boolean;
  readonly limit: number;
  readonly burst: number;
  readonly window_seconds: number;
  readonly remaining: number;
  readonly time: number;
  readonly retryAfter: number;
  readonly resetAfter: number;
  readonly state: UsageState;
  readonly source: Source;
  readonly degraded: boolean;
  readonly origin: AppliedLimit["origin"];
  /** Whether it is a limit that has a queue. */
  readonly queue: boolean;
}

const PLAIN: DecidedLimit = {
  rule_id: "orders",
  name: "Orders",
  allowed: true,
  limit: 10,
  burst: 10,
  window_seconds: 60,
  remaining: 9,
  time: 0,
  retryAfter: 0,
  resetAfter: 0,
  state: "normal",
  source: "store",
  degraded: false,
  origin: "rule",
  queue: false,
};

function limitOf(decided: DecidedLimit): AppliedLimit {
  const { rule_id, name, limit: units, burst, window_seconds, origin, queue } = decided;
  const limit = {
    ...(queue ? leakyBucket("1/s") : tokenBucket("1/s")),
    limit: units,
    burst,
    window: window_seconds * 1_000_000,
  };
  return appliedLimit(rule({ rule_id, name, window_seconds }), { name: rule_id, limit }, limit, origin);
}

/** The verdict of a store that answers so. */
function verdictOf(decided: readonly DecidedLimit[]): Verdict | undefined {
  if (decided.length === 0) return undefined;
  const operations = decided.map((parts) => ({ rule: limitOf(parts).rule, key: "k", cost: 1 }));
  const verdict = decide({ apply: () => decided }, "take", operations);
  for (const [i, { state }] of decided.entries())
    Object.defineProperty(verdict.decisions[i], "state", { value: state });
  return verdict;
}

export function decision(parts: Partial<DecidedLimit> = {}): Decision {
  const verdict = verdictOf([{ ...PLAIN, ...parts }]);
  if (verdict === undefined) throw new Error("a decision has a verdict");
  return verdict.deciding;
}

interface ResultParts {
  readonly limits?: readonly Partial<DecidedLimit>[];
  readonly shadow?: readonly Partial<DecidedLimit>[];
  readonly skewMs?: number | undefined;
  readonly skewed?: boolean;
}

/** A result of a check. */
export function checkResult({ limits = [], shadow = [], skewMs, skewed = false }: ResultParts): CheckResult {
  const enforced = limits.map((parts) => ({ ...PLAIN, ...parts }));
  const watched = shadow.map((parts) => ({ ...PLAIN, ...parts }));
  const verdict = verdictOf(enforced);
  return {
    allowed: verdict?.allowed ?? true,
    verdict,
    shadow: watched.map(decision),
    plan: { enforced: enforced.map(limitOf), shadow: watched.map(limitOf), slots: [], consistency: "strict" },
    skewMs,
    skewed,
  };
}
