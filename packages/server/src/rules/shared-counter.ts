import { algorithms, HeadgateError, type Limit, limitFromSpec, type Rule } from "headgate";
import { type LimitFieldValues, limitFields } from "./limit-fields.ts";
import { type Pattern, readPattern } from "./pattern.ts";
import type { Consistency, Dimension, RateLimitRule, RuleInput } from "./rule.ts";

/** A limit that applies to a request. */
export interface AppliedLimit {
  /** The rule as it was configured. */
  readonly config: RateLimitRule;
  /** The rule as stores know it. Its counter is shared by the rules of all tiers. */
  readonly rule: Rule;
  /** The rule's limit, or the user's own in its place. */
  readonly limit: Limit;
  /** Where the limit comes from. */
  readonly origin: "rule" | "tier" | "custom" | "override";
  /** Which store decides. `strict` if the limit cannot be leased. */
  readonly consistency: Consistency;
}

export function appliedLimit(
  config: RateLimitRule,
  rule: Rule,
  limit: Limit,
  origin: AppliedLimit["origin"],
): AppliedLimit {
  const { leasable } = algorithms[limit.algorithm].traits;
  const consistency = config.consistency === "leased" && !leasable ? "strict" : config.consistency;
  return Object.freeze({ config, rule, limit, origin, consistency });
}

/** The rules of one dimension, pattern and window: at most one of them applies to a request. */
export class SharedCounter {
  readonly dimension: Dimension;
  readonly pattern: Pattern;
  /** In seconds. */
  readonly window: number;
  /** The counter of all its rules, so that users who change tier keep what they have used. */
  readonly name: string;
  #anyTier: AppliedLimit | undefined;
  #byTier: Map<string, AppliedLimit> | undefined;

  constructor(first: RateLimitRule) {
    this.dimension = first.dimension;
    this.pattern = readPattern(first.endpoint_pattern);
    this.window = first.window_seconds;
    this.name = counterName(first);
  }

  add(config: RateLimitRule, limit: Limit): void {
    const { tier } = config;
    const there = tier === null ? this.#anyTier : this.#byTier?.get(tier);
    if (there !== undefined) {
      const what =
        tier === null ? "the same dimension, pattern and window" : "the same dimension, pattern, window and tier";
      throw new HeadgateError(
        "HG_BAD_RULES",
        "endpoint_pattern",
        `${what} as rule ${there.config.rule_id}: change or remove one of them`,
      );
    }
    const { rule_id: name, on_error: onError } = config;
    const rule = Object.freeze({ name, counter: this.name, limit, onError });
    if (tier === null) {
      this.#anyTier = appliedLimit(config, rule, limit, "rule");
    } else {
      this.#byTier ??= new Map();
      this.#byTier.set(tier, appliedLimit(config, rule, limit, "tier"));
    }
  }

  /** The limit for users of a tier; undefined if all its rules are for other tiers. */
  limitFor(tier: string | null): AppliedLimit | undefined {
    return (tier === null ? undefined : this.#byTier?.get(tier)) ?? this.#anyTier;
  }

  /** The tiers that have a rule of their own. */
  get tiers(): readonly string[] {
    return [...(this.#byTier?.keys() ?? [])];
  }

  get limits(): readonly AppliedLimit[] {
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
