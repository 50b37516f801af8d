import { traitsOf } from "../algorithms/lookup.ts";
import type { Clock } from "../clock/clock.ts";
import { HeadgateError } from "../errors.ts";
import type { Limit } from "../limits/limit.ts";
import { requireOptions } from "../options.ts";
import type { Reservation } from "../reservations/reservation.ts";
import { type Reservations, reservationsOf } from "../reservations/reservations.ts";
import type { ReserveOptions } from "../reservations/reserve-options.ts";
import { type ApplyOptions, counterOf, type Operation, type Rule, type Store } from "../stores/store.ts";
import {
  askedIn,
  type CheckAction,
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
import { type Chosen, decideFirst, ONE_OF_THEM } from "./first-of.ts";
import { after } from "./maybe-promise.ts";
import { requireRate } from "./needs-slot.ts";
import type { OnDecision } from "./on-decision.ts";
import { type Batch, type Check, isKeyBatch, requireChecks, requireDistinct, requireKey } from "./requests.ts";
import { makeRule, type QueueName, type RuleName, type Rules, readRules, unknownRule } from "./rules.ts";
import { either, RUN_OPTIONS, type RunOptions, requireConcurrent } from "./run.ts";
import { requireTask, requireWhenFull, type Scheduled, type ScheduleOptions } from "./schedule.ts";
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
  #reserved: Reservations | undefined;

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
   * Charges the first of several checks that has room, and none of the others: a plan, then credits. The decision says
   * which. If none has room, it is the denial that ends first, and `deniedBy` names all of them.
   */
  firstOf<Name extends RuleName<R>>(
    checks: readonly Check<Name>[],
    options?: CheckAllOptions,
  ): Promise<Decision<Name>> {
    try {
      const { operations, once } = this.together(checks, options, ONE_OF_THEM);
      return Promise.resolve(after(decideFirst(this.store, operations, once), (chosen) => this.reportFirst(chosen)));
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
    requireTask(task);
    requireKnown(options, "schedule");
    const { whenFull, ...waiting } = options;
    const decision = await this.#wait(rule, key, waiting, requireWhenFull(whenFull));
    return decision.allowed ? { ran: true, value: await task(), decision } : { ran: false, decision };
  }

  /**
   * Charges an estimate under several rules, all or nothing, and takes slots of concurrency limits. Settle or release the
   * reservation afterwards. It is extended while this process lives; if the process dies, another one ends it.
   */
  async reserve<Name extends RuleName<R>>(
    checks: readonly Check<Name>[],
    options: ReserveOptions = {},
  ): Promise<Reservation<Name>> {
    requireChecks(checks);
    requireDistinct(checks);
    const operations = checks.map(({ rule, key, cost = 1, limit }, i) =>
      this.operation(rule, key, cost, limit, `checks[${i}].`),
    );
    const reservation = await this.#reservations.reserve(operations, options);
    const { decisions, allowed: admitted } = reservation;
    if (this.onDecision !== undefined) {
      for (const [i, decision] of decisions.entries()) this.onDecision(decision, { key: checks[i].key, admitted });
    }
    return reservation;
  }

  /**
   * Finds a reservation that this or another process made, to settle or release it. With `key`, only a reservation of
   * that key is found.
   */
  async reservation(
    id: string,
    options: { readonly key?: string | undefined } = {},
  ): Promise<Reservation<RuleName<R>>> {
    requireOptions(options, FIND_OPTIONS);
    const { key } = options;
    if (key !== undefined) requireKey(key);
    const reservation = await this.#reservations.find(id, key);
    for (const { rule } of reservation.decisions) this.rule(rule as RuleName<R>);
    return reservation as Reservation<RuleName<R>>;
  }

  /**
   * Runs a task with a slot of a concurrency limit, and returns the slot when the task has ended. The task receives a
   * signal that aborts when the slot is lost or `options.signal` aborts. If no slot is free, the task does not run.
   */
  async run<Value, Name extends RuleName<R>>(
    rule: Name,
    key: string,
    task: (signal: AbortSignal) => Value | Promise<Value>,
    options: RunOptions = {},
  ): Promise<Scheduled<Value, Name>> {
    requireOptions(options, RUN_OPTIONS);
    requireTask(task);
    const { cost, limit, ...rest } = options;
    const operation = this.operation(rule, key, costIn({ cost }), limit);
    requireConcurrent(operation.rule);
    const reservation = await this.#reservations.reserve([operation], { ...rest, isPrivate: true });
    const [decision] = reservation.decisions;
    this.onDecision?.(decision, { key, admitted: decision.allowed });
    if (!reservation.allowed) return { ran: false, decision };
    try {
      return { ran: true, value: await task(either(reservation.signal, rest.signal)), decision };
    } finally {
      // If the store fails, the slot is released when it is back, or its lease ends.
      await reservation.release().catch(() => {});
    }
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
    this.#reserved?.wake(counterOf(this.rule(rule)), key);
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
    return checks.map(({ rule, key, cost = 1, limit }, i) => {
      const operation = this.operation(rule, key, cost, limit, `checks[${i}].`);
      requireRate(operation.rule);
      return operation;
    });
  }

  protected batch<Name extends RuleName<R>>(batch: Batch<Name>): Operation<Name>[] {
    if (!isKeyBatch(batch)) return this.operations(batch[0]);
    const [name, keys, options] = batch;
    const rule = this.rule(name);
    requireRate(rule);
    const cost = costIn(options);
    const limit = options?.limit;
    if (limit === undefined) return keys.map((key) => ({ rule, key, cost }));
    requireOwnLimit(limit, rule);
    return keys.map((key) => ({ rule, key, cost, limit }));
  }

  protected single<Name extends RuleName<R>>(
    action: CheckAction,
    rule: Name,
    key: string,
    options: CheckOptions | undefined,
  ): Request<Name> {
    const { cost, limit, once } = askedIn(action, options);
    const operation = this.operation(rule, key, cost, limit);
    if (action !== "peek" && action !== "reset") requireRate(operation.rule);
    return { operations: [operation], once };
  }

  protected together<Name extends RuleName<R>>(
    checks: readonly Check<Name>[],
    options: CheckAllOptions = {},
    onRepetition?: string,
  ): Request<Name> {
    requireKnown(options, "together");
    const once = onceIn(options);
    const operations = this.operations(checks);
    requireDistinct(checks, onRepetition);
    return { operations, once };
  }

  protected reportFirst<Name extends RuleName<R>>({ decision, key }: Chosen<Name>): Decision<Name> {
    this.onDecision?.(decision, { key, admitted: decision.allowed });
    return decision;
  }

  get #reservations(): Reservations {
    this.#reserved ??= reservationsOf(this.store, this.#clock);
    return this.#reserved;
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
    requireRate(this.rule(rule));
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
    action: CheckAction,
    rule: Name,
    key: string,
    options: CheckOptions | undefined,
  ): Promise<Decision<Name>> {
    try {
      const { cost, limit, once } = askedIn(action, options);
      const operation = this.operation(rule, key, cost, limit);
      if (action !== "peek" && action !== "reset") requireRate(operation.rule);
      return this.#decide(action, operation, once);
    } catch (reason) {
      return Promise.reject(reason);
    }
  }

  #decide<Name extends RuleName<R>>(
    action: CheckAction,
    operation: Operation<Name>,
    once: ApplyOptions | undefined,
  ): Promise<Decision<Name>> {
    const verdict = decide(this.store, action, [operation], once);
    return "then" in verdict ? verdict.then(onlyDecision) : Promise.resolve(verdict.deciding);
  }
}

const FIND_OPTIONS: ReadonlySet<string> = new Set(["key"]);

function onlyDecision<Name extends string>({ deciding }: Verdict<Name>): Decision<Name> {
  return deciding;
}

/** One call to a store. */
interface Request<Name extends string> {
  readonly operations: readonly Operation<Name>[];
  readonly once: ApplyOptions | undefined;
}
