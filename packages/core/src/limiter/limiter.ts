import { traitsOf } from "../algorithms/lookup.ts";
import type { Clock } from "../clock/clock.ts";
import { HeadgateError, shown } from "../errors.ts";
import type { Limit } from "../limits/limit.ts";
import type { Action, ApplyOptions, Operation, Rule, Store } from "../stores/store.ts";
import {
  askedIn,
  type CheckAllOptions,
  type CheckOptions,
  type CostOptions,
  costIn,
  type NoOptions,
  onceIn,
  requireKnown,
  requireOwnLimit,
} from "./check-options.ts";
import { decide } from "./decide.ts";
import type { Decision } from "./decision.ts";
import type { OnDecision } from "./on-decision.ts";
import { type Batch, type Check, isKeyBatch, requireChecks, requireDistinct, requireKey } from "./requests.ts";
import { makeRule, type QueueName, type RuleName, type Rules, readRules, unknownRule } from "./rules.ts";
import { requireWhenFull, type Scheduled, type ScheduleOptions } from "./schedule.ts";
import type { Verdict } from "./verdict.ts";
import { type WaitOptions, waitForTurn } from "./wait.ts";
import { WaitingLine } from "./waiting-line.ts";

/** Checks requests against named rules. A denial is a decision, not an exception. */
export class Limiter<R extends Rules = Rules> {
  protected readonly rules: Map<RuleName<R>, Rule<RuleName<R>>>;
  /** The store that keeps the counters. */
  readonly store: Store;
  /** The `onDecision` option. */
  readonly onDecision?: OnDecision;
  readonly #clock: Clock;
  readonly #line = new WaitingLine();

  constructor(rules: R, store: Store, clock: Clock) {
    this.rules = readRules<RuleName<R>>(rules);
    this.store = store;
    this.#clock = clock;
    for (const rule of this.rules.values()) store.open?.(rule);
  }

  /** Checks a request against a rule, and charges it if it is allowed. */
  check<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Promise<Decision<Name>> {
    return this.#single("take", rule, key, options);
  }

  /** Checks a request against several rules. If one of them denies it, none is charged. */
  checkAll<Name extends RuleName<R>>(
    checks: readonly Check<Name>[],
    options?: CheckAllOptions,
  ): Promise<Verdict<Name>> {
    try {
      const { operations, once } = this.together(checks, options);
      return Promise.resolve(decide(this.store, "take", operations, once));
    } catch (reason) {
      return Promise.reject(reason);
    }
  }

  /**
   * Checks independent requests in one call: many keys under one rule, or any checks. All are validated before the
   * first is charged. The decisions are in the same order.
   */
  async checkMany<Name extends RuleName<R>>(...batch: Batch<Name>): Promise<Decision<Name>[]> {
    return Promise.all(this.batch(batch).map((operation) => this.#decide("take", operation, undefined)));
  }

  /** Returns what a check would decide, without charging. */
  peek<Name extends RuleName<R>>(rule: Name, key: string, options?: CostOptions): Promise<Decision<Name>> {
    return this.#single("peek", rule, key, options);
  }

  /** Returns units, at most as many as are used. Resolves with the state of the key afterwards. */
  refund<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Promise<Decision<Name>> {
    return this.#givingBack(this.#single("refund", rule, key, options), rule, key);
  }

  /** Charges units even if they are not available. Resolves with the state of the key afterwards. */
  penalize<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Promise<Decision<Name>> {
    return this.#single("penalize", rule, key, options);
  }

  /** Forgets what a key has used. Resolves with the state of the key afterwards. */
  reset<Name extends RuleName<R>>(rule: Name, key: string, options?: NoOptions): Promise<Decision<Name>> {
    return this.#givingBack(this.#single("reset", rule, key, options), rule, key);
  }

  /**
   * Waits until the request is allowed, or returns the denial after `maxWaitMs`. Callers that wait for the same key are
   * served in order.
   */
  async wait<Name extends RuleName<R>>(rule: Name, key: string, options: WaitOptions = {}): Promise<Decision<Name>> {
    return this.#wait(rule, key, options, true);
  }

  /**
   * Runs a function when its turn comes, at the constant rate of a leaky bucket, whose burst is the length of the
   * queue. While the queue is full, further tasks wait for room, unless `whenFull` is `"drop"`.
   */
  async schedule<Value, Name extends QueueName<R>>(
    rule: Name,
    key: string,
    task: () => Value | Promise<Value>,
    options: ScheduleOptions = {},
  ): Promise<Scheduled<Value, Name>> {
    const { limit } = this.rule(rule);
    if (!traitsOf(limit).queue) {
      throw new HeadgateError(
        "HG_NOT_A_QUEUE",
        "rule",
        `${rule} is a ${limit.algorithm}; schedule needs a leakyBucket, use wait instead`,
      );
    }
    if (typeof task !== "function") {
      throw new HeadgateError("HG_BAD_OPTION", "task", `must be a function, got ${shown(task)}`);
    }
    requireKnown(options, "schedule");
    const { whenFull, ...waiting } = options;
    const decision = await this.#wait(rule, key, waiting, requireWhenFull(whenFull));
    return decision.allowed ? { ran: true, value: await task(), decision } : { ran: false, decision };
  }

  /** Changes the limit of a rule. Used units stay used, unless the algorithm changes. */
  setLimit(rule: RuleName<R>, limit: Limit): void {
    const { limit: previous } = this.rule(rule);
    const changed = makeRule(rule, limit);
    this.store.open?.(changed, previous);
    this.rules.set(rule, changed);
    this.wake(rule);
  }

  /** The current limit of a rule. */
  limitOf(rule: RuleName<R>): Limit {
    return this.rule(rule).limit;
  }

  protected rule<Name extends RuleName<R>>(name: Name): Rule<Name> {
    const rule = this.rules.get(name);
    if (rule === undefined) throw unknownRule(name, this.rules.keys());
    return rule as Rule<Name>;
  }

  /** Makes calls to `wait` under this rule check again, for one key or for all. */
  protected wake(rule: RuleName<R>, key?: string): void {
    this.#line.wake(rule, key);
  }

  protected operation<Name extends RuleName<R>>(
    name: Name,
    key: string,
    cost: number,
    limit: Limit | undefined,
    at?: string,
  ): Operation<Name> {
    requireKey(key);
    const rule = this.rule(name);
    if (limit === undefined) return { rule, key, cost };
    requireOwnLimit(limit, rule, at);
    return { rule, key, cost, limit };
  }

  protected operations<Name extends RuleName<R>>(checks: readonly Check<Name>[]): Operation<Name>[] {
    requireChecks(checks);
    return checks.map(({ rule, key, cost = 1, limit }, i) => this.operation(rule, key, cost, limit, `checks[${i}].`));
  }

  protected batch<Name extends RuleName<R>>(batch: Batch<Name>): Operation<Name>[] {
    if (!isKeyBatch(batch)) return this.operations(batch[0]);
    const [name, keys, options] = batch;
    const rule = this.rule(name);
    const cost = costIn(options);
    const limit = options?.limit;
    if (limit === undefined) return keys.map((key) => ({ rule, key, cost }));
    requireOwnLimit(limit, rule);
    return keys.map((key) => ({ rule, key, cost, limit }));
  }

  protected single<Name extends RuleName<R>>(
    action: Action,
    rule: Name,
    key: string,
    options: CheckOptions | undefined,
  ): Request<Name> {
    const { cost, limit, once } = askedIn(action, options);
    return { operations: [this.operation(rule, key, cost, limit)], once };
  }

  protected together<Name extends RuleName<R>>(
    checks: readonly Check<Name>[],
    options: CheckAllOptions = {},
  ): Request<Name> {
    requireKnown(options, "together");
    const once = onceIn(options);
    const operations = this.operations(checks);
    requireDistinct(checks);
    return { operations, once };
  }

  #wait<Name extends RuleName<R>>(
    rule: Name,
    key: string,
    options: WaitOptions,
    patient: boolean,
  ): Promise<Decision<Name>> {
    requireKnown(options, "wait");
    const { cost, limit } = options;
    const asked = { cost, limit };
    const waiter = {
      ...this.operation(rule, key, costIn(asked), limit),
      patient,
      take: () => this.check(rule, key, asked),
      peek: () => this.peek(rule, key, asked),
      giveBack: () => this.refund(rule, key, asked),
    };
    return waitForTurn(waiter, this.#line, this.#clock, options);
  }

  async #givingBack<Name extends RuleName<R>>(
    decision: Promise<Decision<Name>>,
    rule: Name,
    key: string,
  ): Promise<Decision<Name>> {
    const stands = await decision;
    this.wake(rule, key);
    return stands;
  }

  /**
   * Not an async function and not built from any, because each would cost another promise per check. Errors thrown here
   * still reject the promise.
   */
  #single<Name extends RuleName<R>>(
    action: Action,
    rule: Name,
    key: string,
    options: CheckOptions | undefined,
  ): Promise<Decision<Name>> {
    try {
      const { cost, limit, once } = askedIn(action, options);
      return this.#decide(action, this.operation(rule, key, cost, limit), once);
    } catch (reason) {
      return Promise.reject(reason);
    }
  }

  #decide<Name extends RuleName<R>>(
    action: Action,
    operation: Operation<Name>,
    once: ApplyOptions | undefined,
  ): Promise<Decision<Name>> {
    const verdict = decide(this.store, action, [operation], once);
    return "then" in verdict ? verdict.then(onlyDecision) : Promise.resolve(verdict.deciding);
  }
}

function onlyDecision<Name extends string>({ deciding }: Verdict<Name>): Decision<Name> {
  return deciding;
}

/** One call to a store. */
interface Request<Name extends string> {
  readonly operations: readonly Operation<Name>[];
  readonly once: ApplyOptions | undefined;
}
