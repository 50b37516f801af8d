import type { CheckResult } from "../../checks/check.ts";
import { answerOf } from "../shared/check-fields.ts";
import { figuresOf } from "../shared/decision-figures.ts";
import { type ProblemCode, problemBody } from "./problem.ts";

/** The same text as JSON.stringify of `answerOf`, built by hand because no response is sent more often. */
export function answerText(result: CheckResult, withLimits: boolean): string {
  return `{${fieldsText(result, withLimits)}`;
}

/** Without the opening brace. */
function fieldsText(result: CheckResult, withLimits: boolean): string {
  const { allowed, verdict, plan, skewMs, skewed } = result;
  // Rare, so not worth a fast path.
  if (withLimits || verdict === undefined || skewMs !== undefined || plan.slots.length > 0)
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
