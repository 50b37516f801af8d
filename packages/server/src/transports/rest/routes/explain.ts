import type { z } from "zod";
import type { CheckResult } from "../../../checks/check.ts";
import type { RateLimitRule } from "../../../rules/rule.ts";
import type { AppliedLimit } from "../../../rules/shared-counter.ts";
import type { Standing } from "../../../rules/user-limits.ts";
import { figuresOf } from "../../shared/decision-figures.ts";
import type { App } from "../app.ts";
import { answerOf } from "../check-answer.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { checkBody, explainQuery, explanation, problems } from "../schemas.ts";

/** The most rules that do not apply and are still explained. */
const MOST_PASSED_OVER = 1_000;

const explainBody = checkBody.omit({ timestamp: true, with_limits: true });

type Question = z.output<typeof explainBody>;
type Explanation = z.output<typeof explanation>;

/** What would happen to a request and why, without charging. */
export function explainRoutes(app: App, { service, catalogue, standings, now = Date.now }: RestParts): void {
  const explain = async (question: Question): Promise<Explanation> => {
    const { dimension, endpoint, identifier } = question;
    const result = await service.peek(question);
    const standing = dimension === "user" ? await standings.of(identifier) : undefined;
    const applied = catalogue().limitsFor({ dimension, endpoint, standing }, now());
    return {
      ...question,
      tier: standing?.tier ?? null,
      summary: summaryOf(result),
      answer: answerOf(result, true),
      rules: [
        ...applied.map((limit) => why(limit, standing, now())),
        ...passedOver(catalogue(), question, applied).map((rule) => whyNot(rule, standing)),
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

function summaryOf({ allowed, verdict, shadow }: CheckResult): string {
  if (verdict === undefined) {
    return shadow.length > 0 ? "Allowed: only shadow rules match." : "Allowed: no rule matches.";
  }
  const { rule, limit, windowMs, degraded } = verdict.deciding;
  const { remaining, retry_after_ms } = figuresOf(verdict.deciding);
  const stale = degraded ? " Decided without the store, so this may be inaccurate." : "";
  const each = `${limit} per ${windowMs / 1000} s`;
  if (allowed) return `Allowed. The tightest limit is ${rule} (${each}): ${remaining} left.${stale}`;
  if (retry_after_ms < 0) {
    return `Denied by ${rule} (${each}) at any time: the cost exceeds the limit.${stale}`;
  }
  return `Denied by ${rule} (${each}). Allowed in ${retry_after_ms} ms.${stale}`;
}

type Explained = Explanation["rules"][number];

function why({ config, origin }: AppliedLimit, standing: Standing | undefined, now: number): Explained {
  return { ...named(config), applies: true, origin, why: reasonOf(config, origin, standing, now) };
}

function reasonOf(
  rule: RateLimitRule,
  origin: AppliedLimit["origin"],
  standing: Standing | undefined,
  now: number,
): string {
  const shadow = rule.mode === "shadow" ? "; in shadow mode, so it denies nothing" : "";
  if (origin === "tier") return `the user's tier is ${rule.tier}${shadow}`;
  if (origin === "custom") return `the user has a custom limit for this rule${shadow}`;
  if (origin === "override") {
    const overrides = standing?.overrides.filter(
      ({ rule_id, expires_at }) => (rule_id === null || rule_id === rule.rule_id) && Date.parse(expires_at) > now,
    );
    const told = overrides?.map(
      ({ override_id, reason, expires_at }) => `${override_id} until ${expires_at} (${reason})`,
    );
    return `overridden by ${told?.join(", ") ?? "an override"}${shadow}`;
  }
  const { tier } = standing ?? { tier: null };
  return `the rule applies to all users${tier === null ? "" : ` whose tier (${tier}) has no rule of its own`}${shadow}`;
}

/** The rules that match the endpoint but are for another tier; not all of them if there are very many tiers. */
function passedOver(
  catalogue: ReturnType<RestParts["catalogue"]>,
  { dimension, endpoint }: Question,
  applied: readonly AppliedLimit[],
): RateLimitRule[] {
  const taken = new Set(applied.map(({ config }) => config));
  const matching = catalogue.limitsAt(dimension, endpoint).map(({ config }) => config);
  return matching.filter((rule) => !taken.has(rule)).slice(0, MOST_PASSED_OVER);
}

function whyNot(rule: RateLimitRule, standing: Standing | undefined): Explained {
  const tier = standing?.tier ?? null;
  const reason =
    rule.tier === null
      ? `the user's tier (${tier}) has a rule of its own`
      : `the rule is for tier ${rule.tier}; the user's tier is ${tier ?? "none"}`;
  return { ...named(rule), applies: false, origin: null, why: reason };
}

function named({
  rule_id,
  name,
  endpoint_pattern,
  tier,
  mode,
}: RateLimitRule): Omit<Explained, "applies" | "origin" | "why"> {
  return { rule_id, name, endpoint_pattern, tier, mode };
}
