import { type Limit, sameLimit } from "../../limits/limit.ts";
import type { Rule } from "../../stores/store.ts";
import { Heat } from "./hot-keys.ts";
import type { Lease } from "./lease.ts";
import type { Settings } from "./leased-options.ts";
import { type Pool, poolOf } from "./pool.ts";
import type { Tempo } from "./store-latency.ts";

/** A rule under one limit, the pool of each of its keys, and the keys that are leased for. */
export class LeasedRule {
  readonly name: string;
  readonly limit: Limit;
  readonly pool: Pool;
  readonly leases = new Map<string, Lease>();
  readonly heat: Heat;

  constructor(rule: Rule, settings: Settings, tempo: Tempo) {
    this.name = rule.name;
    this.limit = rule.limit;
    this.pool = poolOf(rule, settings);
    this.heat = new Heat(settings.promoteAfter, tempo);
  }
}

/**
 * Rules by name. One name may stand for several limits at a time: before and after a change, or by the tier of a user.
 * None is forgotten, for whoever has one in hand may lease under it again.
 */
export class LeasedRules {
  private readonly settings: Settings;
  private readonly tempo: Tempo;
  private readonly byName = new Map<string, LeasedRule[]>();
  /** Whoever asks mostly hands in the same object, and often the one that he handed in last. */
  private readonly byRule = new WeakMap<Rule, LeasedRule>();
  private lastRule: Rule | undefined;
  private last: LeasedRule | undefined;

  constructor(settings: Settings, tempo: Tempo) {
    this.settings = settings;
    this.tempo = tempo;
  }

  /** Whether quota of a rule is leased at all. */
  has({ name }: Rule): boolean {
    return this.settings.rules?.has(name) ?? true;
  }

  of(rule: Rule): LeasedRule | undefined {
    if (rule !== this.lastRule) {
      this.last = this.byRule.get(rule) ?? this.find(rule);
      this.lastRule = rule;
    }
    return this.last;
  }

  named(name: string): readonly LeasedRule[] {
    return this.byName.get(name) ?? [];
  }

  all(): readonly LeasedRule[] {
    return [...this.byName.values()].flat();
  }

  private find(rule: Rule): LeasedRule | undefined {
    if (!this.has(rule)) return undefined;
    const named = this.byName.get(rule.name) ?? [];
    let known = named.find(({ limit }) => sameLimit(limit, rule.limit));
    if (known === undefined) {
      known = new LeasedRule(rule, this.settings, this.tempo);
      this.byName.set(rule.name, [...named, known]);
    }
    this.byRule.set(rule, known);
    return known;
  }
}
