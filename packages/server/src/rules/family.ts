import { HeadgateError, type Limit, limitFromSpec, type Rule } from "headgate";
import { type LimitFieldValues, limitFields } from "./limit-fields.ts";
import { type Pattern, readPattern } from "./pattern.ts";
import type { Dimension, RateLimitRule, RuleInput } from "./rule.ts";

/** A limit that applies to a request. */
export interface Applied {
  readonly definition: RateLimitRule;
  /** The rule that stores count under. The rules of a family share its counter. */
  readonly rule: Rule;
  /** The limit in force: the rule's, or the user's own. */
  readonly limit: Limit;
  /** Where the limit comes from. */
  readonly from: "rule" | "tier" | "custom" | "override";
}

/** The rules of one dimension, pattern and window: at most one of them applies to a request. */
export class Family {
  readonly dimension: Dimension;
  readonly pattern: Pattern;
  /** In seconds. */
  readonly window: number;
  /** The counter of its rules: users who change tier keep what they have used. */
  readonly counter: string;
  #anyTier: Applied | undefined;
  #byTier: Map<string, Applied> | undefined;

  constructor(first: RateLimitRule) {
    this.dimension = first.dimension;
    this.pattern = readPattern(first.endpoint_pattern);
    this.window = first.window_seconds;
    this.counter = counterName(first);
  }

  add(definition: RateLimitRule, limit: Limit): void {
    const { tier } = definition;
    const there = tier === null ? this.#anyTier : this.#byTier?.get(tier);
    if (there !== undefined) {
      const what =
        tier === null ? "the same dimension, pattern and window" : "the same dimension, pattern, window and tier";
      throw new HeadgateError(
        "HG_BAD_RULES",
        "endpoint_pattern",
        `${what} as rule ${there.definition.rule_id}: change or remove one of them`,
      );
    }
    const { rule_id: name, on_error: onError } = definition;
    const rule = Object.freeze({ name, counter: this.counter, limit, onError });
    if (tier === null) {
      this.#anyTier = Object.freeze({ definition, rule, limit, from: "rule" });
    } else {
      this.#byTier ??= new Map();
      this.#byTier.set(tier, Object.freeze({ definition, rule, limit, from: "tier" }));
    }
  }

  /** The member for a tier; undefined if the family has rules for other tiers only. */
  memberFor(tier: string | null): Applied | undefined {
    return (tier === null ? undefined : this.#byTier?.get(tier)) ?? this.#anyTier;
  }

  /** The tiers that have a member of their own. */
  get tiers(): readonly string[] {
    return [...(this.#byTier?.keys() ?? [])];
  }

  get members(): readonly Applied[] {
    return [...(this.#anyTier === undefined ? [] : [this.#anyTier]), ...(this.#byTier?.values() ?? [])];
  }
}

export function counterName({ window_seconds, endpoint_pattern }: RateLimitRule): string {
  return `${window_seconds}:${endpoint_pattern}`;
}

/** The limit of a rule, or of one with other units. */
export function limitOf(rule: Pick<RuleInput, "algorithm" | "limit" | "window_seconds"> & LimitFieldValues): Limit {
  const { algorithm, limit, window_seconds: window } = rule;
  const stated = limitFields.flatMap(({ name }) => (rule[name] === null ? [] : [[name, rule[name]] as const]));
  return limitFromSpec({ algorithm, limit, window, ...Object.fromEntries(stated) });
}
