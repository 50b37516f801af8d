import { HeadgateError, shown } from "../errors.ts";
import type { Limit } from "../limit/limit.ts";
import { requireOptions } from "../options.ts";
import type { Action, Answer, Operation, Store } from "../stores/store.ts";
import type { Clock } from "../time/clock.ts";
import { Decision, type RuleWithNames } from "./decision.ts";
import {
  type Batch,
  type Check,
  type CheckOptions,
  costIn,
  isKeyBatch,
  requireChecks,
  requireDistinct,
  requireKey,
} from "./requests.ts";
import { makeRule, type QueueName, type RuleName, type Rules, readRules, unknownRule } from "./rules.ts";
import type { Scheduled, ScheduleOptions } from "./schedule.ts";
import { Verdict } from "./verdict.ts";
import { type WaitOptions, waitForTurn } from "./wait.ts";
import { WaitingLine } from "./waiting-line.ts";

const WAIT_OPTIONS: ReadonlySet<string> = new Set(["cost", "signal", "maxWaitMs"]);

/** Decides by named rules over any store. A denial is a decision, never an exception. */
export class Limiter<R extends Rules = Rules> {
  protected readonly rules: Map<RuleName<R>, RuleWithNames<RuleName<R>>>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #line = new WaitingLine();

  constructor(rules: R, store: Store, clock: Clock) {
    this.rules = readRules<RuleName<R>>(rules);
    this.#store = store;
    this.#clock = clock;
  }

  /** One request under one rule. */
  async check<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Promise<Decision<Name>> {
    return this.#single("take", rule, key, costIn(options));
  }

  /** One request under several rules: charged to all of them, or to none if any refuses. */
  async checkAll<Name extends RuleName<R>>(checks: readonly Check<Name>[]): Promise<Verdict<Name>> {
    return new Verdict(await this.#apply("take", this.together(checks)));
  }

  /**
   * Requests that have nothing to do with each other, in one go: many keys under one rule, or any
   * checks. All are validated before the first is charged; the decisions come in the same order.
   */
  async checkMany<Name extends RuleName<R>>(...batch: Batch<Name>): Promise<Decision<Name>[]> {
    const operations = this.batch(batch);
    const decisions = await Promise.all(operations.map((operation) => this.#apply("take", [operation])));
    return decisions.flat();
  }

  /** What a check would say, taking nothing. */
  async peek<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Promise<Decision<Name>> {
    return this.#single("peek", rule, key, costIn(options));
  }

  /** Gives units back, never more than were used; answers how the key stands then. */
  async refund<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Promise<Decision<Name>> {
    return this.#single("refund", rule, key, costIn(options));
  }

  /** Takes units whether they are there or not; answers how the key stands then. */
  async penalize<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Promise<Decision<Name>> {
    return this.#single("penalize", rule, key, costIn(options));
  }

  /** Forgets what a key has used. */
  async reset<Name extends RuleName<R>>(rule: Name, key: string): Promise<Decision<Name>> {
    return this.#single("reset", rule, key, 1);
  }

  /** Waits until the request is admitted. Those who wait for one key are served in order. */
  async wait<Name extends RuleName<R>>(rule: Name, key: string, options: WaitOptions = {}): Promise<Decision<Name>> {
    return this.#wait(rule, key, options, true);
  }

  /** Runs a function when a leaky bucket lets it out: calls leave at a constant rate, and the burst is the length of the queue. */
  async schedule<Value, Name extends QueueName<R>>(
    rule: Name,
    key: string,
    task: () => Value | Promise<Value>,
    options: ScheduleOptions = {},
  ): Promise<Scheduled<Value, Name>> {
    const { algorithm } = this.rule(rule).limit;
    if (algorithm !== "leaky_bucket") {
      throw new HeadgateError(
        "HG_NOT_A_QUEUE",
        "rule",
        `${rule} is a ${algorithm}; schedule needs a leakyBucket, use wait instead`,
      );
    }
    if (typeof task !== "function") {
      throw new HeadgateError("HG_BAD_OPTION", "task", `must be a function, got ${shown(task)}`);
    }
    requireOptions(options, WAIT_OPTIONS);
    const decision = await this.#wait(rule, key, options, options.maxWaitMs !== undefined);
    return decision.allowed ? { ran: true, value: await task(), decision } : { ran: false, decision };
  }

  /** Puts another limit in the place of a rule's. What was used stays used, unless the algorithm is another. */
  setLimit(rule: RuleName<R>, limit: Limit): void {
    this.rule(rule);
    this.rules.set(rule, makeRule(rule, limit));
  }

  protected rule<Name extends RuleName<R>>(name: Name): RuleWithNames<Name> {
    const rule = this.rules.get(name);
    if (rule === undefined) throw unknownRule(name, this.rules.keys());
    return rule as RuleWithNames<Name>;
  }

  protected operation<Name extends RuleName<R>>(rule: Name, key: string, cost: number): NamedOperation<Name> {
    requireKey(key);
    return { rule: this.rule(rule), key, cost };
  }

  protected operations<Name extends RuleName<R>>(checks: readonly Check<Name>[]): NamedOperation<Name>[] {
    requireChecks(checks);
    return checks.map(({ rule, key, cost = 1 }) => this.operation(rule, key, cost));
  }

  protected batch<Name extends RuleName<R>>(batch: Batch<Name>): NamedOperation<Name>[] {
    if (!isKeyBatch(batch)) return this.operations(batch[0]);
    const [name, keys, options] = batch;
    const rule = this.rule(name);
    const cost = costIn(options);
    return keys.map((key) => ({ rule, key, cost }));
  }

  protected together<Name extends RuleName<R>>(checks: readonly Check<Name>[]): NamedOperation<Name>[] {
    const operations = this.operations(checks);
    requireDistinct(checks);
    return operations;
  }

  #wait<Name extends RuleName<R>>(
    rule: Name,
    key: string,
    options: WaitOptions,
    patient: boolean,
  ): Promise<Decision<Name>> {
    requireOptions(options, WAIT_OPTIONS);
    const asked = options.cost === undefined ? {} : { cost: options.cost };
    const waiter = {
      ...this.operation(rule, key, costIn(asked)),
      patient,
      take: () => this.check(rule, key, asked),
      peek: () => this.peek(rule, key, asked),
      giveBack: () => this.refund(rule, key, asked),
    };
    return waitForTurn(waiter, this.#line, this.#clock, options);
  }

  async #single<Name extends RuleName<R>>(
    action: Action,
    rule: Name,
    key: string,
    cost: number,
  ): Promise<Decision<Name>> {
    const [decision] = await this.#apply(action, [this.operation(rule, key, cost)]);
    return decision;
  }

  async #apply<Name extends RuleName<R>>(
    action: Action,
    operations: NamedOperation<Name>[],
  ): Promise<Decision<Name>[]> {
    return decided(action, operations, await this.#store.apply(action, operations));
  }
}

/** What a store answered, as decisions. Corrections are answered as a peek of cost 1 is. */
export function decided<Name extends string>(
  action: Action,
  operations: readonly NamedOperation<Name>[],
  answers: readonly Answer[],
): Decision<Name>[] {
  const isAsked = action === "take" || action === "peek";
  return operations.map(({ rule, cost }, i) => {
    return new Decision(rule, isAsked ? cost : 1, answers[i], answers[i].source, answers[i].degraded);
  });
}

export interface NamedOperation<Name extends string> extends Operation {
  readonly rule: RuleWithNames<Name>;
}
