import { algorithms, HeadgateError, type Limit } from "headgate";
import { atOnce, inTurns, type Work } from "./cooperative-work.ts";
import { plainParts } from "./endpoint.fast.ts";
import { piecesOf } from "./endpoint.ts";
import { limitFields } from "./limit-fields.ts";
import { countUpTo, sortedById } from "./merge-sort.ts";
import { appliesTo } from "./methods.ts";
import { overlaps, type Warning } from "./overlaps.ts";
import { matchEveryReading } from "./path-readings.ts";
import type { Dimension, RateLimitRule } from "./rule.ts";
import { type AppliedLimit, appliedLimit, counterName, limitOf, SharedCounter } from "./shared-counter.ts";
import { PatternTrie } from "./trie.ts";
import type { Override, UserData } from "./user-limits.ts";

export interface LimitsRequest {
  readonly dimension: Dimension;
  readonly endpoint: string;
  /** The method of the request, in any case. Without it, rules that name methods do not apply. */
  readonly method?: string | undefined;
  /** Whether rules apply whatever methods they name. */
  readonly anyMethod?: boolean;
  /** Stored data of the user, if any. Used only in the dimension `user`. */
  readonly userData: UserData | undefined;
}

type Tries = Readonly<Record<Dimension, PatternTrie<SharedCounter>>>;

/** Number of cached limits of single users, over all rules. */
const MOST_CUSTOM = 10_000;

/** All rules, ready for lookup. Immutable: changed rules make a new catalogue. */
export class Catalogue {
  readonly rules: readonly RateLimitRule[];
  /** The rules sorted by id. */
  readonly byId: readonly RateLimitRule[];
  /** The tiers that rules name. */
  readonly tiers: ReadonlySet<string>;
  /** The methods that rules name. */
  readonly methods: ReadonlySet<string>;
  readonly #counters: ReadonlyMap<string, SharedCounter>;
  readonly #tries: Tries;
  readonly #custom = new Map<string, AppliedLimit | undefined>();

  private constructor(
    rules: readonly RateLimitRule[],
    byId: readonly RateLimitRule[],
    tiers: ReadonlySet<string>,
    methods: ReadonlySet<string>,
    counters: ReadonlyMap<string, SharedCounter>,
    tries: Tries,
  ) {
    this.rules = rules;
    this.byId = byId;
    this.tiers = tiers;
    this.methods = methods;
    this.#counters = counters;
    this.#tries = tries;
  }

  /** Throws a HeadgateError that names the rule and the field if a rule is invalid. */
  static of(rules: readonly RateLimitRule[]): Catalogue {
    return atOnce(Catalogue.#making(rules));
  }

  /** The same, in steps that let other work run. */
  static make(rules: readonly RateLimitRule[]): Promise<Catalogue> {
    return inTurns(Catalogue.#making(rules));
  }

  static *#making(rules: readonly RateLimitRule[]): Work<Catalogue> {
    const tries = {
      user: new PatternTrie<SharedCounter>(),
      ip: new PatternTrie<SharedCounter>(),
      apikey: new PatternTrie<SharedCounter>(),
    };
    const counters = new Map<string, SharedCounter>();
    const tiers = new Set<string>();
    const methods = new Set<string>();
    // Rules share few limits, and creating a limit takes longer than everything else.
    const limits = new Map<string, Limit>();
    for (const rule of rules) {
      try {
        const key = counterKey(rule);
        let counter = counters.get(key);
        if (counter === undefined) {
          counter = new SharedCounter(rule);
          counters.set(key, counter);
          tries[rule.dimension].add(counter.pattern, counter);
        }
        const { algorithm, limit, window_seconds } = rule;
        const units = `${algorithm} ${limit} ${window_seconds} ${limitFields.map(({ name }) => rule[name])}`;
        const made = limits.get(units) ?? limitOf(rule);
        limits.set(units, made);
        counter.add(rule, made);
        if (rule.tier !== null) tiers.add(rule.tier);
        for (const method of rule.methods ?? []) methods.add(method);
      } catch (error) {
        throw ofRule(rule.rule_id, error);
      }
      yield;
    }
    return new Catalogue(Object.freeze([...rules]), yield* sortedById(rules), tiers, methods, counters, tries);
  }

  /** All limits that apply to a request, the broadest pattern first; empty if no rule matches. */
  limitsFor(request: LimitsRequest, now: Date | number): readonly AppliedLimit[] {
    const { dimension, endpoint, anyMethod = false } = request;
    const method = request.method?.toUpperCase();
    const userData = dimension === "user" ? request.userData : undefined;
    const tier = userData?.tier ?? null;
    const limits: AppliedLimit[] = [];
    for (const counter of this.#countersAt(dimension, endpoint)) {
      const applied = counter.limitFor(tier);
      if (applied === undefined || !(anyMethod || appliesTo(counter.methods, method))) continue;
      limits.push(userData === undefined ? applied : this.#ofUser(userData, applied, Number(now)));
    }
    return limits;
  }

  /** A rule by its id. */
  ruleOf(ruleId: string): RateLimitRule | undefined {
    const rule = this.byId[countUpTo(this.byId, ruleId) - 1];
    return rule?.rule_id === ruleId ? rule : undefined;
  }

  /** The limit that applies on the counter of a rule; undefined if all its rules are for other tiers. */
  limitOn(rule: RateLimitRule, userData: UserData | undefined, now: number): AppliedLimit | undefined {
    const applied = this.#counters.get(counterKey(rule))?.limitFor(userData?.tier ?? null);
    return applied === undefined || userData === undefined ? applied : this.#ofUser(userData, applied, now);
  }

  /** The limits of all rules that match an endpoint, whatever tier and methods they are for. */
  limitsAt(dimension: Dimension, endpoint: string): readonly AppliedLimit[] {
    return this.#countersAt(dimension, endpoint).flatMap(({ limits }) => limits);
  }

  /** The limits of all rules of a dimension, whatever tier they are for. To be done in turns. */
  *limitsOf(dimension: Dimension): Work<readonly AppliedLimit[]> {
    const limits: AppliedLimit[] = [];
    for (const counter of this.#counters.values()) {
      if (counter.dimension === dimension) limits.push(...counter.limits);
      yield;
    }
    return limits;
  }

  /** Limits of a user, by rule id: up to `limit` of those after an id. To be run in steps. */
  *limitsOfUser(userData: UserData, now: number, limit: number, after = ""): Work<readonly AppliedLimit[]> {
    const limits: AppliedLimit[] = [];
    for (let i = countUpTo(this.byId, after); i < this.byId.length && limits.length < limit; i += 1) {
      const rule = this.byId[i];
      const applied =
        rule.dimension === "user" ? this.#counters.get(counterKey(rule))?.limitFor(userData.tier) : undefined;
      if (applied?.config === rule) limits.push(this.#ofUser(userData, applied, now));
      yield;
    }
    return limits;
  }

  /** Warnings about rules that overlap. */
  get warnings(): readonly Warning[] {
    return atOnce(this.findWarnings());
  }

  /** The same, to be run in steps. */
  findWarnings(): Work<readonly Warning[]> {
    return overlaps([...this.#counters.values()], this.#tries);
  }

  #countersAt(dimension: Dimension, endpoint: string): readonly SharedCounter[] {
    const trie = this.#tries[dimension];
    const parts = plainParts(endpoint);
    return parts === undefined ? matchEveryReading(trie, piecesOf(endpoint)) : trie.match(parts);
  }

  #ofUser(userData: UserData, applied: AppliedLimit, now: number): AppliedLimit {
    const { rule_id } = applied.config;
    const override = overrideFor(userData.overrides, rule_id, now);
    if (override !== undefined) return this.#with(applied, override.limit, override.burst, "override");
    if (!Object.hasOwn(userData.custom_limits, rule_id)) return applied;
    const { limit, burst = null } = userData.custom_limits[rule_id];
    return this.#with(applied, limit, burst, "custom");
  }

  /** The limit with other units, or as it is if no limit can be made of them. */
  #with(applied: AppliedLimit, limit: number, burst: number | null, origin: AppliedLimit["origin"]): AppliedLimit {
    const { config } = applied;
    const key = `${origin} ${limit} ${burst} ${config.rule_id}`;
    if (!this.#custom.has(key)) {
      // Drop the oldest; those still in use are created again.
      for (const oldest of this.#custom.keys()) {
        if (this.#custom.size < MOST_CUSTOM) break;
        this.#custom.delete(oldest);
      }
      this.#custom.set(key, withUnits(applied, limit, burst, origin));
    }
    return this.#custom.get(key) ?? applied;
  }
}

function counterKey(rule: RateLimitRule): string {
  return `${rule.dimension}:${counterName(rule)}`;
}

function withUnits(
  { config, rule, candidate }: AppliedLimit,
  limit: number,
  burst: number | null,
  origin: AppliedLimit["origin"],
): AppliedLimit | undefined {
  try {
    // A burst in an override for all rules is ignored where the algorithm has none.
    const { burst: hasBurst } = algorithms[config.algorithm].traits;
    const made = limitOf({ ...config, limit, burst: hasBurst ? burst : null });
    return appliedLimit(config, rule, made, origin, candidate && { candidate });
  } catch {
    return undefined;
  }
}

/** Of the overrides in force, the one for the rule, otherwise the one for all rules; the newest of several. */
function overrideFor(overrides: readonly Override[], ruleId: string, now: number): Override | undefined {
  let chosen: Override | undefined;
  for (const override of overrides) {
    if ((override.rule_id ?? ruleId) !== ruleId || !(Date.parse(override.expires_at) > now)) continue;
    if (chosen === undefined || goesBefore(override, chosen)) chosen = override;
  }
  return chosen;
}

function goesBefore(a: Override, b: Override): boolean {
  if ((a.rule_id === null) !== (b.rule_id === null)) return a.rule_id !== null;
  return a.created_at >= b.created_at;
}

function ofRule(ruleId: string, error: unknown): unknown {
  if (!(error instanceof HeadgateError)) return error;
  const { code, field, problem } = error;
  return new HeadgateError(code, `rules[${JSON.stringify(ruleId)}].${field}`, problem, { cause: error });
}
