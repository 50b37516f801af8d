import { algorithms, HeadgateError, type Limit } from "headgate";
import { atOnce, inTurns, type Work } from "./cooperative-work.ts";
import { plainParts } from "./endpoint.fast.ts";
import { piecesOf } from "./endpoint.ts";
import { type Applied, counterName, Family, limitOf } from "./family.ts";
import { limitFields } from "./limit-fields.ts";
import { countUpTo, sortedById } from "./merge-sort.ts";
import { overlaps, type Warning } from "./overlaps.ts";
import { matchEveryReading } from "./path-readings.ts";
import type { Dimension, RateLimitRule } from "./rule.ts";
import { PatternTrie } from "./trie.ts";
import type { Override, Standing } from "./user-limits.ts";

export interface LimitsRequest {
  readonly dimension: Dimension;
  readonly endpoint: string;
  /** Stored data of the user, if any. Used only in the dimension `user`. */
  readonly standing: Standing | undefined;
}

type Tries = Readonly<Record<Dimension, PatternTrie<Family>>>;

/** Number of cached limits of single users, over all rules. */
const MOST_CUSTOM = 10_000;

/** All rules, ready for lookup. Immutable: changed rules make a new catalogue. */
export class Catalogue {
  readonly rules: readonly RateLimitRule[];
  /** The rules sorted by id. */
  readonly byId: readonly RateLimitRule[];
  /** The tiers that rules name. */
  readonly tiers: ReadonlySet<string>;
  readonly #families: ReadonlyMap<string, Family>;
  readonly #tries: Tries;
  readonly #custom = new Map<string, Applied | undefined>();

  private constructor(
    rules: readonly RateLimitRule[],
    byId: readonly RateLimitRule[],
    tiers: ReadonlySet<string>,
    families: ReadonlyMap<string, Family>,
    tries: Tries,
  ) {
    this.rules = rules;
    this.byId = byId;
    this.tiers = tiers;
    this.#families = families;
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
    const tries = { user: new PatternTrie<Family>(), ip: new PatternTrie<Family>(), apikey: new PatternTrie<Family>() };
    const families = new Map<string, Family>();
    const tiers = new Set<string>();
    // Rules share few limits, and creating a limit takes longer than everything else.
    const limits = new Map<string, Limit>();
    for (const rule of rules) {
      try {
        const key = familyKey(rule);
        let family = families.get(key);
        if (family === undefined) {
          family = new Family(rule);
          families.set(key, family);
          tries[rule.dimension].add(family.pattern, family);
        }
        const { algorithm, limit, window_seconds } = rule;
        const units = `${algorithm} ${limit} ${window_seconds} ${limitFields.map(({ name }) => rule[name])}`;
        const made = limits.get(units) ?? limitOf(rule);
        limits.set(units, made);
        family.add(rule, made);
        if (rule.tier !== null) tiers.add(rule.tier);
      } catch (error) {
        throw ofRule(rule.rule_id, error);
      }
      yield;
    }
    return new Catalogue(Object.freeze([...rules]), yield* sortedById(rules), tiers, families, tries);
  }

  /** All limits that apply to a request, the broadest pattern first; empty if no rule matches. */
  limitsFor(request: LimitsRequest, now: Date | number): readonly Applied[] {
    const { dimension, endpoint } = request;
    const standing = dimension === "user" ? request.standing : undefined;
    const tier = standing?.tier ?? null;
    const limits: Applied[] = [];
    for (const family of this.#familiesAt(dimension, endpoint)) {
      const member = family.memberFor(tier);
      if (member === undefined) continue;
      limits.push(standing === undefined ? member : this.#ofUser(standing, member, Number(now)));
    }
    return limits;
  }

  /** The limits of all rules that match an endpoint, whatever tier they are for. */
  limitsAt(dimension: Dimension, endpoint: string): readonly Applied[] {
    return this.#familiesAt(dimension, endpoint).flatMap(({ members }) => members);
  }

  /** The limits of all rules of a dimension, whatever tier they are for. To be done in turns. */
  *limitsOf(dimension: Dimension): Work<readonly Applied[]> {
    const limits: Applied[] = [];
    for (const family of this.#families.values()) {
      if (family.dimension === dimension) limits.push(...family.members);
      yield;
    }
    return limits;
  }

  /** Limits of a user, by rule id: up to `limit` of those after an id. To be run in steps. */
  *limitsOfUser(standing: Standing, now: number, limit: number, after = ""): Work<readonly Applied[]> {
    const limits: Applied[] = [];
    for (let i = countUpTo(this.byId, after); i < this.byId.length && limits.length < limit; i += 1) {
      const rule = this.byId[i];
      const member =
        rule.dimension === "user" ? this.#families.get(familyKey(rule))?.memberFor(standing.tier) : undefined;
      if (member?.definition === rule) limits.push(this.#ofUser(standing, member, now));
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
    return overlaps([...this.#families.values()], this.#tries);
  }

  #familiesAt(dimension: Dimension, endpoint: string): readonly Family[] {
    const trie = this.#tries[dimension];
    const parts = plainParts(endpoint);
    return parts === undefined ? matchEveryReading(trie, piecesOf(endpoint)) : trie.match(parts);
  }

  #ofUser(standing: Standing, member: Applied, now: number): Applied {
    const { rule_id } = member.definition;
    const override = overrideFor(standing.overrides, rule_id, now);
    if (override !== undefined) return this.#with(member, override.limit, override.burst, "override");
    if (!Object.hasOwn(standing.custom_limits, rule_id)) return member;
    const { limit, burst = null } = standing.custom_limits[rule_id];
    return this.#with(member, limit, burst, "custom");
  }

  /** A member with other values; the member itself if they do not make a valid limit. */
  #with(member: Applied, limit: number, burst: number | null, from: Applied["from"]): Applied {
    const { definition } = member;
    const key = `${from} ${limit} ${burst} ${definition.rule_id}`;
    if (!this.#custom.has(key)) {
      // Drop the oldest; those still in use are created again.
      for (const oldest of this.#custom.keys()) {
        if (this.#custom.size < MOST_CUSTOM) break;
        this.#custom.delete(oldest);
      }
      this.#custom.set(key, applied(member, limit, burst, from));
    }
    return this.#custom.get(key) ?? member;
  }
}

function familyKey(rule: RateLimitRule): string {
  return `${rule.dimension}:${counterName(rule)}`;
}

function applied(
  { definition, rule }: Applied,
  limit: number,
  burst: number | null,
  from: Applied["from"],
): Applied | undefined {
  try {
    // A burst in an override for all rules is ignored where the algorithm has none.
    const { burst: hasBurst } = algorithms[definition.algorithm].traits;
    const made = limitOf({ ...definition, limit, burst: hasBurst ? burst : null });
    return Object.freeze({ definition, rule, limit: made, from });
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
