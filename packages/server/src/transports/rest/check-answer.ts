import type { Decision } from "headgate";
import type { z } from "zod";
import type { CheckResult } from "../../checks/check.ts";
import type { AppliedLimit } from "../../rules/shared-counter.ts";
import { figuresOf } from "../shared/decision-figures.ts";
import { type ProblemCode, problemBody } from "./problem.ts";
import type { checkAnswer } from "./schemas.ts";

/** The response to a check: the figures of the limit that decided, or null if no rule matches. -1 means never. */
type CheckAnswer = z.input<typeof checkAnswer>;

export function answerOf(result: CheckResult, withLimits: boolean): CheckAnswer {
  const { allowed, verdict, shadow, plan, skewMs, skewed } = result;
  return {
    allowed,
    ...(verdict === undefined ? UNLIMITED : decidedFields(verdict.deciding)),
    skewed,
    ...(skewMs !== undefined && { skew_ms: Math.round(skewMs) }),
    ...(withLimits && {
      limits: verdict?.decisions.map((decision, i) => limitFields(plan.enforced[i], decision)) ?? [],
      shadow_limits: shadow.map((decision, i) => limitFields(plan.shadow[i], decision)),
    }),
  };
}

/** The same text as JSON.stringify of `answerOf`, built by hand because no response is sent more often. */
export function answerText(result: CheckResult, withLimits: boolean): string {
  return `{${fieldsText(result, withLimits)}`;
}

/** Without the opening brace. */
function fieldsText(result: CheckResult, withLimits: boolean): string {
  const { allowed, verdict, skewMs, skewed } = result;
  // Rare, so not worth a fast path.
  if (withLimits || verdict === undefined || skewMs !== undefined)
    return JSON.stringify(answerOf(result, withLimits)).slice(1);
  const { rule, state, source, degraded, queuePosition } = verdict.deciding;
  if (queuePosition > 0) return JSON.stringify(answerOf(result, withLimits)).slice(1);
  const figures = figuresOf(verdict.deciding);
  return (
    `"allowed":${allowed},"current_count":${figures.current_count},"limit":${figures.limit},` +
    `"remaining":${figures.remaining},"reset_at":${figures.reset_at},` +
    `"retry_after":${figures.retry_after},"reset_at_ms":${figures.reset_at_ms},` +
    `"retry_after_ms":${figures.retry_after_ms},"rule_id":${quoted(rule)},"state":"${state}",` +
    `"source":"${source}","degraded":${degraded},"skewed":${skewed}}`
  );
}

/** A denial is a check response that is also a problem document (RFC 9457). */
export function denialText(result: CheckResult, withLimits: boolean): string {
  const denying = deniedBy(result).map(quoted).join(",");
  return `${PROBLEM_TEXTS[denialCode(result)]},"violated-policies":[${denying}],${fieldsText(result, withLimits)}`;
}

/** More than most services have rules. Beyond it, the cache is cleared. */
const MOST_QUOTED = 10_000;
const QUOTED = new Map<string, string>();

/** A rule's id as JSON. */
function quoted(ruleId: string): string {
  const known = QUOTED.get(ruleId);
  if (known !== undefined) return known;
  const text = JSON.stringify(ruleId);
  if (QUOTED.size >= MOST_QUOTED) QUOTED.clear();
  QUOTED.set(ruleId, text);
  return text;
}

type DenialCode = Extract<ProblemCode, "quota_exceeded" | "reduced_capacity">;

const PROBLEM_TEXTS: Readonly<Record<DenialCode, string>> = {
  quota_exceeded: openText("quota_exceeded"),
  reduced_capacity: openText("reduced_capacity"),
};

/** The JSON of a problem, without the closing brace. */
function openText(code: DenialCode): string {
  return JSON.stringify(problemBody(code)).slice(0, -1);
}

/** Without the store, the client may be within its quota. */
export function denialCode({ verdict }: CheckResult): DenialCode {
  return verdict?.source === "fallback" ? "reduced_capacity" : "quota_exceeded";
}

/** The rules that denied a request, as RateLimit-Policy names them. */
export function deniedBy({ verdict }: CheckResult): readonly string[] {
  return verdict?.deniedBy ?? [];
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

function limitFields({ config, origin }: AppliedLimit, decision: Decision) {
  const { allowed, burst, state, source, degraded } = decision;
  const { limit, remaining, current_count, reset_at_ms, retry_after_ms, ...more } = figuresOf(decision);
  const { queue_position, delay_ms } = more;
  const { rule_id, name, window_seconds } = config;
  const figures = { current_count, limit, burst, window_seconds, remaining, reset_at_ms, retry_after_ms };
  const queue = queue_position !== undefined && { queue_position, delay_ms };
  return { rule_id, name, allowed, ...figures, ...queue, state, source, degraded, origin };
}
