import { algorithms, HeadgateError, type Limit, limitFromSpec, type Rule } from "headgate";
import { type LimitFieldValues, limitFields } from "./limit-fields.ts";
import type { Methods } from "./methods.ts";
import { type Pattern, readPattern } from "./pattern.ts";
import type { Consistency, Dimension, RateLimitRule, RuleInput } from "./rule.ts";
import { windowOf } from "./rule-window.ts";

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
  /** The candidate of the rule, which is evaluated next to it and denies nothing. */
  readonly candidate?: AppliedLimit;
  /** Whether this is the candidate of its rule. */
  readonly isCandidate?: true;
}

export function appliedLimit(
  config: RateLimitRule,
  rule: Rule,
  limit: Limit,
  origin: AppliedLimit["origin"],
  more: Pick<AppliedLimit, "candidate" | "isCandidate"> = {},
): AppliedLimit {
  const { leasable } = algorithms[limit.algorithm].traits;
  const consistency = config.consistency === "leased" && !leasable ? "strict" : config.consistency;
  return Object.freeze({ config, rule, limit, origin, consistency, ...more });
}

const CANDIDATE = ":candidate:";

/** Whether a counter is that of a candidate. All others end in a pattern. */
export function isCandidateCounter(counter: string): boolean {
  return counter.includes(CANDIDATE) && !counter.includes(":/");
}

/** The candidate of a rule, always with a counter of its own. */
function candidateOf(config: RateLimitRule): AppliedLimit | undefined {
  const fields = candidateFields(config);
  if (fields === undefined) return undefined;
  const limit = limitOf(fields);
  const { rule_id: name, on_error: onError } = config;
  // Patterns begin with a slash and IDs do not, so no other counter has this name.
  const counter = `${windowOf(fields)}${CANDIDATE}${name}`;
  return appliedLimit(config, Object.freeze({ name, counter, limit, onError }), limit, "rule", { isCandidate: true });
}

/** The rules of one dimension, pattern, window and set of methods: at most one of them applies to a request. */
export class SharedCounter {
  readonly dimension: Dimension;
  readonly pattern: Pattern;
  readonly methods: Methods;
  /** As `windowOf` identifies it. */
  readonly window: number | string;
  /** The counter of all its rules, so that users who change tier keep what they have used. */
  readonly name: string;
  #anyTier: AppliedLimit | undefined;
  #byTier: Map<string, AppliedLimit> | undefined;

  constructor(first: RateLimitRule) {
    this.dimension = first.dimension;
    this.pattern = readPattern(first.endpoint_pattern);
    this.methods = first.methods;
    this.window = windowOf(first);
    this.name = counterName(first);
  }

  add(config: RateLimitRule, limit: Limit): void {
    const { tier } = config;
    const there = tier === null ? this.#anyTier : this.#byTier?.get(tier);
    if (there !== undefined) {
      const what =
        tier === null
          ? "the same dimension, pattern, methods and window"
          : "the same dimension, pattern, methods, window and tier";
      throw new HeadgateError(
        "HG_BAD_RULES",
        "endpoint_pattern",
        `${what} as rule ${there.config.rule_id}: change or remove one of them`,
      );
    }
    const { rule_id: name, on_error: onError } = config;
    const rule = Object.freeze({ name, counter: this.name, limit, onError });
    const candidate = candidateOf(config);
    const applied = appliedLimit(config, rule, limit, tier === null ? "rule" : "tier", candidate && { candidate });
    if (tier === null) {
      this.#anyTier = applied;
    } else {
      this.#byTier ??= new Map();
      this.#byTier.set(tier, applied);
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

/** Patterns begin with a slash, so that the name of a rule without methods cannot be that of one with methods. */
export function counterName(rule: RateLimitRule): string {
  const { endpoint_pattern, methods } = rule;
  const window = windowOf(rule);
  return methods === null ? `${window}:${endpoint_pattern}` : `${window}:${methods}:${endpoint_pattern}`;
}

type CountedFields = Pick<RuleInput, "algorithm" | "limit" | "window_seconds"> & LimitFieldValues;

/** The fields of a rule with those of its candidate in their place, if it has one. */
export function candidateFields(rule: CountedFields & Pick<RuleInput, "candidate">): CountedFields | undefined {
  const { candidate } = rule;
  if (candidate === null) return undefined;
  const { limit, burst } = candidate;
  const algorithm = candidate.algorithm ?? rule.algorithm;
  const window_seconds = candidate.window_seconds ?? rule.window_seconds;
  // Fields of the rule's algorithm may not exist in another.
  const none = Object.fromEntries(limitFields.map(({ name }) => [name, null]));
  const fields = algorithm === rule.algorithm ? rule : { ...rule, ...none };
  const noCalendar = candidate.window_seconds === null ? {} : { calendar: null, time_zone: null, anchor_day: null };
  return { ...fields, ...noCalendar, algorithm, window_seconds, limit, burst };
}

/** The limit of a rule, or of one with other units. */
export function limitOf(rule: CountedFields): Limit {
  const { algorithm, limit, window_seconds: window } = rule;
  const stated = limitFields.flatMap(({ name }) => (rule[name] === null ? [] : [[name, rule[name]] as const]));
  return limitFromSpec({ algorithm, limit, ...(window !== null && { window }), ...Object.fromEntries(stated) });
}
