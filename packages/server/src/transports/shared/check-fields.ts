import type { Decision } from "headgate";
import type { CheckResult } from "../../checks/check.ts";
import { identityOf, type Plan } from "../../checks/check-plans.ts";
import { figuresOf } from "./decision-figures.ts";

/** The response to a check: the figures of the limit that decided, or null if no rule matches. -1 means never. */
export function answerOf(result: CheckResult, withLimits: boolean) {
  const { allowed, verdict, shadow, plan, skewMs, skewed } = result;
  return {
    allowed,
    ...(verdict === undefined ? UNLIMITED : decidedFields(verdict.deciding)),
    skewed,
    ...(skewMs !== undefined && { skew_ms: Math.round(skewMs) }),
    ...(plan.slots.length > 0 && { not_applied: plan.slots.map(({ config }) => config.rule_id) }),
    ...(withLimits && {
      limits: verdict?.decisions.map((decision, i) => limitFields(plan, "enforced", i, decision)) ?? [],
      shadow_limits: shadow.map((decision, i) => limitFields(plan, "shadow", i, decision)),
    }),
  };
}

function decidedFields(decision: Decision) {
  const { rule, state, source, degraded } = decision;
  return { ...figuresOf(decision), rule_id: rule, state, source, degraded };
}

const UNLIMITED = {
  current_count: null,
  limit: null,
  remaining: null,
  reset_at: null,
  retry_after: 0,
  reset_at_ms: null,
  retry_after_ms: 0,
  rule_id: null,
  state: "normal",
  source: null,
  degraded: false,
} as const;

const CANDIDATE = { candidate: true } as const;

function limitFields(plan: Plan, list: "enforced" | "shadow", i: number, decision: Decision) {
  const { config, origin, isCandidate } = plan[list][i];
  const { allowed, burst, state, source, degraded } = decision;
  const { limit, remaining, current_count, reset_at_ms, retry_after_ms, ...more } = figuresOf(decision);
  const { queue_position, delay_ms } = more;
  const { rule_id, name } = config;
  const window_seconds = decision.windowMs / 1000;
  const figures = { current_count, limit, burst, window_seconds, remaining, reset_at_ms, retry_after_ms };
  const queue = queue_position !== undefined && { queue_position, delay_ms };
  const identity = identityOf(plan, list, i);
  const decided = { state, source, degraded, origin, ...(isCandidate && CANDIDATE) };
  return { rule_id, name, ...identity, allowed, ...figures, ...queue, ...decided };
}
