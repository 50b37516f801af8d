import type { z } from "zod";
import type { CheckResult } from "../../../checks/check.ts";
import { isSlots } from "../../../checks/check-plans.ts";
import { keyOf } from "../../../checks/check-request.ts";
import { isEnforced } from "../../../checks/enforce-share.ts";
import { appliesTo } from "../../../rules/methods.ts";
import type { RateLimitRule } from "../../../rules/rule.ts";
import type { AppliedLimit } from "../../../rules/shared-counter.ts";
import type { UserData } from "../../../rules/user-limits.ts";
import { answerOf } from "../../shared/check-fields.ts";
import { figuresOf } from "../../shared/decision-figures.ts";
import type { App } from "../app.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { singleCheck } from "../schemas/check-schemas.ts";
import { explainQuery, explanation } from "../schemas/explain-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";

/** The most rules that do not apply and are still explained. */
const MOST_PASSED_OVER = 1_000;

const explainBody = singleCheck.omit({ timestamp: true, with_limits: true });

type Question = z.output<typeof explainBody>;
type Explanation = z.output<typeof explanation>;

/** What would happen to a request and why, without charging. */
export function explainRoutes(app: App, { service, catalogue, userDataCache, now = Date.now }: RestParts): void {
  const explain = async (question: Question): Promise<Explanation> => {
    const { dimension, endpoint, method, identifier } = question;
    const result = await service.peek(question);
    const userData = dimension === "user" ? await userDataCache.of(identifier) : undefined;
    const applied = catalogue().limitsFor({ dimension, endpoint, method, userData }, now());
    return {
      ...question,
      tier: userData?.tier ?? null,
      summary: summaryOf(result),
      answer: answerOf(result, true),
      rules: [
        ...applied.map((limit) => why(limit, keyOf(question), userData, now())),
        ...passedOver(catalogue(), question, applied).map((rule) => whyNot(rule, method, userData)),
      ],
    };
  };

  const schema = {
    tags: ["checks"],
    summary: "Explain what a check would return, without charging",
    response: {
      200: explanation,
      ...problems("malformed_json", "body_too_large", "unsupported_media_type", "store_unavailable"),
    },
  };
  app.get("/explain", { schema: { ...schema, querystring: explainQuery } }, ({ query }) => explain(query));
  app.post("/explain", { schema: { ...schema, body: explainBody } }, ({ body }) => explain(body));
}

function summaryOf({ allowed, verdict, shadow, plan }: CheckResult): string {
  if (verdict === undefined) {
    if (shadow.length === 0 && plan.slots.length > 0) {
      return "Allowed: only limits on concurrent tasks match, which checks do not apply.";
    }
    return shadow.length > 0 ? "Allowed: only shadow rules match." : "Allowed: no rule matches.";
  }
  const { rule, limit, windowMs, degraded } = verdict.deciding;
  const { remaining, retry_after_ms } = figuresOf(verdict.deciding);
  const stale = degraded ? " Decided without the store, so this may be inaccurate." : "";
  const each = `${limit} per ${verdict.deciding.explain().calendar ?? `${windowMs / 1000} s`}`;
  if (allowed) return `Allowed. The tightest limit is ${rule} (${each}): ${remaining} left.${stale}`;
  if (retry_after_ms < 0) {
    return `Denied by ${rule} (${each}) at any time: the cost exceeds the limit.${stale}`;
  }
  return `Denied by ${rule} (${each}). Allowed in ${retry_after_ms} ms.${stale}`;
}

type Explained = Explanation["rules"][number];

function why(applied: AppliedLimit, key: string, userData: UserData | undefined, now: number): Explained {
  const { config, origin } = applied;
  if (isSlots(applied)) {
    const why = "the rule limits concurrent tasks: only reservations take its slots, checks do not apply it";
    return { ...named(config), applies: false, origin: null, why };
  }
  return {
    ...named(config),
    applies: true,
    origin,
    why: reasonOf(config, origin, userData, now) + trialOf(config, key),
  };
}

function trialOf(rule: RateLimitRule, key: string): string {
  if (rule.mode === "shadow") return "; in shadow mode, so it denies nothing";
  if (isEnforced(rule, key)) return "";
  return `; enforced for ${rule.enforce_share} of the keys, of which this is none, so it denies nothing`;
}

function reasonOf(
  rule: RateLimitRule,
  origin: AppliedLimit["origin"],
  userData: UserData | undefined,
  now: number,
): string {
  if (origin === "tier") return `the user's tier is ${rule.tier}`;
  if (origin === "custom") return `the user has a custom limit for this rule`;
  if (origin === "override") {
    const overrides = userData?.overrides.filter(
      ({ rule_id, expires_at }) => (rule_id === null || rule_id === rule.rule_id) && Date.parse(expires_at) > now,
    );
    const told = overrides?.map(
      ({ override_id, reason, expires_at }) => `${override_id} until ${expires_at} (${reason})`,
    );
    return `overridden by ${told?.join(", ") ?? "an override"}`;
  }
  const { tier } = userData ?? { tier: null };
  return `the rule applies to all users${tier === null ? "" : ` whose tier (${tier}) has no rule of its own`}`;
}

/** The rules that match the endpoint but are for another tier or other methods; not all of them if there are very many tiers. */
function passedOver(
  catalogue: ReturnType<RestParts["catalogue"]>,
  { dimension, endpoint }: Question,
  applied: readonly AppliedLimit[],
): RateLimitRule[] {
  const taken = new Set(applied.map(({ config }) => config));
  const matching = catalogue.limitsAt(dimension, endpoint).map(({ config }) => config);
  return matching.filter((rule) => !taken.has(rule)).slice(0, MOST_PASSED_OVER);
}

function whyNot(rule: RateLimitRule, method: string | undefined, userData: UserData | undefined): Explained {
  return { ...named(rule), applies: false, origin: null, why: reasonAgainst(rule, method, userData?.tier ?? null) };
}

function reasonAgainst(rule: RateLimitRule, method: string | undefined, tier: string | null): string {
  if (rule.methods !== null && !appliesTo(rule.methods, method?.toUpperCase())) {
    const of = method === undefined ? "the check has no method" : `the method is ${method.toUpperCase()}`;
    return `the rule is for ${rule.methods.join(", ")}; ${of}`;
  }
  return rule.tier === null
    ? `the user's tier (${tier}) has a rule of its own`
    : `the rule is for tier ${rule.tier}; the user's tier is ${tier ?? "none"}`;
}

function named({
  rule_id,
  name,
  endpoint_pattern,
  methods,
  tier,
  mode,
}: RateLimitRule): Omit<Explained, "applies" | "origin" | "why"> {
  return { rule_id, name, endpoint_pattern, methods, tier, mode };
}
