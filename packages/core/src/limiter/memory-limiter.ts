import { Outcome } from "../algorithms/algorithm.ts";
import type { Clock } from "../clock/clock.ts";
import type { Limit } from "../limits/limit.ts";
import type { MemoryStore } from "../stores/memory/memory-store.ts";
import type { RuleRows } from "../stores/memory/rule-rows.ts";
import { limitOf, type Operation, type Rule } from "../stores/store.ts";
import {
  type CheckAction,
  type CheckAllOptions,
  type CheckOptions,
  type CostOptions,
  costIn,
  type NoOptions,
} from "./check-options.ts";
import { decide } from "./decide.ts";
import { Decision } from "./decision.ts";
import { decideFirst, ONE_OF_THEM } from "./first-of.ts";
import { Limiter } from "./limiter.ts";
import { requireRate } from "./needs-slot.ts";
import { type Batch, type Check, isKeyBatch, requireKey } from "./requests.ts";
import { makeRule, type RuleName, type Rules } from "./rules.ts";
import type { Verdict } from "./verdict.ts";

/** A limiter with its counters in memory. Its methods also exist without promises. */
export class MemoryLimiter<R extends Rules = Rules> extends Limiter<R> {
  override readonly store: MemoryStore;
  private readonly clock: Clock;
  private readonly out = new Outcome();
  // The rule used last, because most programs use one again and again. Other limiters on the same store may change its
  // limit, which changes the version of the store. The first check selects one.
  private selected: Rule<RuleName<R>>;
  declare private rows: RuleRows;
  private version = -1;

  constructor(rules: R, store: MemoryStore) {
    super(rules, store, store.clock);
    this.store = store;
    this.clock = store.clock;
    const [first] = this.rules.keys();
    this.selected = this.rule(first);
  }

  /** Like `check`, without a promise. */
  checkSync<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Decision<Name> {
    // Short enough for V8 to inline: a check with options takes another path.
    if (options !== undefined) return this.checkWith(rule, key, options);
    if (typeof key !== "string") requireKey(key);
    if (rule !== this.selected.name || this.version !== this.store.version) this.select(rule);
    const { selected, out } = this;
    const now = this.clock.now();
    this.rows.take(selected.limit, key, 1, now, out);
    return new Decision(selected as Rule<Name>, 1, out, now, "store", false, selected.limit);
  }

  /** Like `checkAll`, without a promise. */
  checkAllSync<Name extends RuleName<R>>(checks: readonly Check<Name>[], options?: CheckAllOptions): Verdict<Name> {
    const { operations, once } = this.together(checks, options);
    return decide(this.store, "take", operations, once);
  }

  /** Like `firstOf`, without a promise. */
  firstOfSync<Name extends RuleName<R>>(checks: readonly Check<Name>[], options?: CheckAllOptions): Decision<Name> {
    const { operations, once } = this.together(checks, options, ONE_OF_THEM);
    return this.reportFirst(decideFirst(this.store, operations, once));
  }

  /** Like `checkMany`, without a promise. */
  checkManySync<Name extends RuleName<R>>(...batch: Batch<Name>): Decision<Name>[] {
    if (!isKeyBatch(batch)) return this.takeEach(this.operations(batch[0]));
    const [rule, keys, options] = batch;
    if (options?.limit !== undefined) return this.takeEach(this.batch(batch));
    const cost = costIn(options);
    if (rule !== this.selected.name || this.version !== this.store.version) this.select(rule);
    const { rows, selected, out } = this;
    const now = this.clock.now();
    const decisions = new Array<Decision<Name>>(keys.length);
    for (let i = 0; i < keys.length; i += 1) {
      rows.take(selected.limit, keys[i], cost, now, out);
      decisions[i] = new Decision(selected as Rule<Name>, cost, out, now, "store", false, selected.limit);
    }
    return decisions;
  }

  /** Like `peek`, without a promise. */
  peekSync<Name extends RuleName<R>>(rule: Name, key: string, options?: CostOptions): Decision<Name> {
    return this.act("peek", rule, key, options);
  }

  /** Like `refund`, without a promise. */
  refundSync<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Decision<Name> {
    return this.act("refund", rule, key, options);
  }

  /** Like `penalize`, without a promise. */
  penalizeSync<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Decision<Name> {
    return this.act("penalize", rule, key, options);
  }

  /** Like `reset`, without a promise. */
  resetSync<Name extends RuleName<R>>(rule: Name, key: string, options?: NoOptions): Decision<Name> {
    return this.act("reset", rule, key, options);
  }

  override async check<Name extends RuleName<R>>(
    rule: Name,
    key: string,
    options?: CheckOptions,
  ): Promise<Decision<Name>> {
    return this.checkSync(rule, key, options);
  }

  override async checkMany<Name extends RuleName<R>>(...batch: Batch<Name>): Promise<Decision<Name>[]> {
    return this.checkManySync(...batch);
  }

  override setLimit(rule: RuleName<R>, limit: Limit): void {
    this.rule(rule);
    this.store.setLimit(makeRule(rule, limit));
    this.wake(rule);
  }

  private checkWith<Name extends RuleName<R>>(rule: Name, key: string, options: CheckOptions): Decision<Name> {
    if (options?.idempotencyKey !== undefined || options?.limit !== undefined) {
      return this.act("take", rule, key, options);
    }
    const cost = costIn(options);
    requireKey(key);
    if (rule !== this.selected.name || this.version !== this.store.version) this.select(rule);
    const { selected, out } = this;
    const now = this.clock.now();
    this.rows.take(selected.limit, key, cost, now, out);
    return new Decision(selected as Rule<Name>, cost, out, now, "store", false, selected.limit);
  }

  private takeEach<Name extends RuleName<R>>(operations: readonly Operation<Name>[]): Decision<Name>[] {
    const now = this.clock.now();
    const { out } = this;
    return operations.map((operation) => {
      const { rule, key, cost } = operation;
      const limit = limitOf(operation);
      this.store.rowsOf(rule, limit).take(limit, key, cost, now, out);
      return new Decision(rule, cost, out, now, "store", false, limit);
    });
  }

  /** A rule with its current limit in the store. */
  protected override rule<Name extends RuleName<R>>(name: Name): Rule<Name> {
    const rule = super.rule(name);
    const limit = this.store.limitOf(name) ?? rule.limit;
    if (limit === rule.limit) return rule;
    const changed = makeRule(name, limit);
    this.rules.set(name, changed);
    return changed;
  }

  private select(name: RuleName<R>): void {
    const rule = this.rule(name);
    requireRate(rule);
    this.selected = rule;
    this.rows = this.store.rowsOf(this.selected, this.selected.limit);
    this.version = this.store.version;
  }

  private act<Name extends RuleName<R>>(
    action: CheckAction,
    rule: Name,
    key: string,
    options: CheckOptions | undefined,
  ): Decision<Name> {
    const { operations, once } = this.single(action, rule, key, options);
    const { deciding } = decide(this.store, action, operations, once);
    if (action === "refund" || action === "reset") this.wake(rule, key);
    return deciding;
  }
}
