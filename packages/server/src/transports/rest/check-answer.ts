import type { CheckResult, LimitResult } from "../../checks/check.ts";
import { type ProblemCode, problemBody } from "./problem.ts";

/** The result of one limit, with the field names of the gRPC response. */
interface LimitAnswer {
  rule_id: string;
  name: string;
  allowed: boolean;
  current_count: number;
  limit: number;
  burst: number;
  window_seconds: number;
  remaining: number;
  reset_at_ms: number;
  retry_after_ms: number;
  state: LimitResult["state"];
  source: LimitResult["source"];
  degraded: boolean;
  origin: LimitResult["from"];
}

/** The response to a check: the figures of the limit that decided, or null if no rule matches. -1 means never. */
export interface CheckAnswer {
  allowed: boolean;
  current_count: number | null;
  limit: number | null;
  remaining: number | null;
  reset_at: number | null;
  retry_after: number;
  reset_at_ms: number | null;
  retry_after_ms: number;
  rule_id: string | null;
  state: LimitResult["state"];
  source: LimitResult["source"] | null;
  degraded: boolean;
  skew_ms?: number;
  skewed: boolean;
  limits?: LimitAnswer[];
  shadow_limits?: LimitAnswer[];
}

export function answerOf(result: CheckResult, withLimits: boolean): CheckAnswer {
  const { decisive, skew_ms } = result;
  const answer: CheckAnswer = decisive === undefined ? unlimited(result) : decided(result, decisive);
  if (skew_ms !== undefined) answer.skew_ms = Math.round(skew_ms);
  if (withLimits) {
    answer.limits = result.limits.map(limitAnswer);
    answer.shadow_limits = result.shadow.map(limitAnswer);
  }
  return answer;
}

/** The same text as JSON.stringify of `answerOf`, built by hand because no response is sent more often. */
export function answerText(result: CheckResult, withLimits: boolean): string {
  return `{${fieldsText(result, withLimits)}`;
}

/** Without the opening brace. */
function fieldsText(result: CheckResult, withLimits: boolean): string {
  const { decisive, skew_ms } = result;
  // Rare, so not worth a fast path.
  if (withLimits || decisive === undefined || skew_ms !== undefined)
    return JSON.stringify(answerOf(result, withLimits)).slice(1);
  const resetAt = decisive.reset_at_ms;
  const retryAfter = wait(decisive.retry_after_ms);
  return (
    `"allowed":${result.allowed},"current_count":${decisive.current_count},"limit":${decisive.limit},` +
    `"remaining":${decisive.remaining},"reset_at":${seconds(resetAt)},` +
    `"retry_after":${seconds(retryAfter)},"reset_at_ms":${resetAt},"retry_after_ms":${retryAfter},` +
    `"rule_id":${quoted(decisive.rule_id)},"state":"${decisive.state}","source":"${decisive.source}",` +
    `"degraded":${decisive.degraded},"skewed":${result.skewed}}`
  );
}

/** A denial is a check response that is also a problem document (RFC 9457). */
export function denialText(result: CheckResult, withLimits: boolean): string {
  let violated = "";
  for (const { allowed, rule_id } of result.limits) {
    if (!allowed) violated += violated === "" ? quoted(rule_id) : `,${quoted(rule_id)}`;
  }
  return `${PROBLEM_TEXTS[denialCode(result)]},"violated-policies":[${violated}],${fieldsText(result, withLimits)}`;
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
export function denialCode({ decisive }: CheckResult): DenialCode {
  return decisive?.source === "fallback" ? "reduced_capacity" : "quota_exceeded";
}

/** The rules that denied the request, as named in RateLimit-Policy. */
export function violatedIn({ limits }: CheckResult): string[] {
  return limits.filter(({ allowed }) => !allowed).map(({ rule_id }) => rule_id);
}

function decided({ allowed, skewed }: CheckResult, decisive: LimitResult): CheckAnswer {
  const retryAfter = wait(decisive.retry_after_ms);
  return {
    allowed,
    current_count: decisive.current_count,
    limit: decisive.limit,
    remaining: decisive.remaining,
    reset_at: seconds(decisive.reset_at_ms),
    retry_after: seconds(retryAfter),
    reset_at_ms: decisive.reset_at_ms,
    retry_after_ms: retryAfter,
    rule_id: decisive.rule_id,
    state: decisive.state,
    source: decisive.source,
    degraded: decisive.degraded,
    skewed,
  };
}

function unlimited({ allowed, skewed }: CheckResult): CheckAnswer {
  return {
    allowed,
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
    skewed,
  };
}

function limitAnswer(result: LimitResult): LimitAnswer {
  return {
    rule_id: result.rule_id,
    name: result.name,
    allowed: result.allowed,
    current_count: result.current_count,
    limit: result.limit,
    burst: result.burst,
    window_seconds: result.window_seconds,
    remaining: result.remaining,
    reset_at_ms: result.reset_at_ms,
    retry_after_ms: wait(result.retry_after_ms),
    state: result.state,
    source: result.source,
    degraded: result.degraded,
    origin: result.from,
  };
}

/** Rounded up, so that a retry at the reported time is allowed. */
function wait(ms: number): number {
  return ms === Number.POSITIVE_INFINITY ? -1 : Math.ceil(ms);
}

function seconds(ms: number): number {
  return ms < 0 ? -1 : Math.ceil(ms / 1000);
}
