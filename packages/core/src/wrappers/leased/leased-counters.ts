import { traitsOf } from "../../algorithms/lookup.ts";
import type { Limit } from "../../limits/limit.ts";
import { counterOf, type Rule } from "../../stores/store.ts";
import { HotKeys } from "./hot-keys.ts";
import type { Lease } from "./lease.ts";
import type { Settings } from "./leased-options.ts";
import { type Pool, poolOf } from "./pool.ts";
import type { StoreLatency } from "./store-latency.ts";

/** Leased keys of one counter, and the keys that are busy. */
export class LeasedCounter {
  readonly name: string;
  readonly leases = new Map<string, Lease>();
  readonly heat: HotKeys;

  constructor(name: string, settings: Settings, tempo: StoreLatency) {
    this.name = name;
    this.heat = new HotKeys(settings.promoteAfter, tempo);
  }
}

/** The leased counters, and the pool for each limit of a counter. */
export class LeasedCounters {
  private readonly settings: Settings;
  private readonly tempo: StoreLatency;
  private readonly byName = new Map<string, LeasedCounter>();
  private readonly pools = new WeakMap<Limit, Pool>();
  /** Cached, because callers usually pass the same rule again. */
  private lastRule: Rule | undefined;
  private last: LeasedCounter | undefined;

  constructor(settings: Settings, tempo: StoreLatency) {
    this.settings = settings;
    this.tempo = tempo;
  }

  /** Whether quota of a rule is leased at all. The slots of a concurrency limit stay with the store. */
  has({ name, limit }: Rule): boolean {
    return this.settings.rules?.has(name) ?? !traitsOf(limit).releasable;
  }

  of(rule: Rule): LeasedCounter | undefined {
    if (rule !== this.lastRule) {
      this.last = this.has(rule) ? this.find(counterOf(rule)) : undefined;
      this.lastRule = rule;
    }
    return this.last;
  }

  named(name: string): LeasedCounter | undefined {
    return this.byName.get(name);
  }

  all(): readonly LeasedCounter[] {
    return [...this.byName.values()];
  }

  poolOf(rule: Rule, limit: Limit): Pool {
    let pool = this.pools.get(limit);
    if (pool === undefined) {
      pool = poolOf(rule.name, limit, this.settings);
      this.pools.set(limit, pool);
    }
    return pool;
  }

  private find(name: string): LeasedCounter {
    let counter = this.byName.get(name);
    if (counter === undefined) {
      counter = new LeasedCounter(name, this.settings, this.tempo);
      this.byName.set(name, counter);
    }
    return counter;
  }
}
