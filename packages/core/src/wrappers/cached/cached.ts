import type { Clock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { StoreError } from "../../errors.ts";
import { sameLimit } from "../../limits/limit.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { hasSlots } from "../../stores/slot-operations.ts";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  counterOf,
  limitOf,
  type Operation,
  type Rule,
  type Store,
} from "../../stores/store.ts";
import { StoreWrapper } from "../../stores/store-wrapper.ts";
import { ArrivalRate } from "./arrival-rate.ts";
import { CachedCounter } from "./cached-counter.ts";
import { type CachedOptions, readCachedOptions } from "./cached-options.ts";
import type { CachedStats } from "./cached-stats.ts";
import type { Denial } from "./remembered-denials.ts";
import { TimedStore } from "./timed-store.ts";
import { land, takeOff, WriteBehind } from "./write-behind.ts";

/** How many denials each flush inspects to remove expired ones. */
const STEPS_PER_FLUSH = 64;
/** The store decides about keys with less than this share of their limit left. */
const NEAR_LIMIT = 0.2;
/** Remaining quota of a key when the store cannot be asked: only this process's own use limits it. */
const UNKNOWABLE = Number.POSITIVE_INFINITY;
/** How early a client's timer may fire, in microseconds. */
const TIMER_EARLINESS = 1_000;

/**
 * Wraps a store so that most requests are decided without a round trip: the store is updated a few milliseconds later,
 * in batches. The store decides about unknown keys and keys near their limit. Several processes together can admit
 * slightly more than the limit.
 */
export function cached(store: Store, options: CachedOptions = {}): CachedStore {
  return new CachedStore(store, options);
}

/** A store made by `cached`. */
export class CachedStore extends StoreWrapper {
  override readonly clock: Clock;
  /** Denials and delays use the local clock: the store's clock may be corrected, but a promised time must hold. */
  private readonly timers: Clock;
  private readonly flushMs: number;
  private readonly refresh: number;
  private readonly confirm: boolean;
  private readonly maxKeys: number;
  private readonly read: boolean;
  private readonly link: TimedStore;
  private readonly writeBehind: WriteBehind;
  /** What this process admitted: this alone must fit into the limit, whatever the store reports. */
  private readonly own: MemoryStore;
  private readonly counters = new Map<string, CachedCounter>();
  private readonly arrivals: ArrivalRate;
  /** Arrivals that were decided without the store. */
  private readonly decidedHere: ArrivalRate;
  private denied = 0;
  private confirmed = 0;

  constructor(store: Store, options: CachedOptions) {
    super(store);
    const { flushMs, refreshMs, confirm, maxPending, maxKeys, read, clock } = readCachedOptions(options);
    this.clock = store.clock ?? clock ?? new SystemClock();
    this.timers = clock ?? quietClock();
    this.flushMs = flushMs;
    this.confirm = confirm && !read;
    this.refresh = refreshMs * 1000;
    this.maxKeys = maxKeys;
    this.read = read;
    this.link = new TimedStore(store, this.timers);
    this.own = new MemoryStore({ clock: this.clock, maxKeys });
    this.arrivals = new ArrivalRate(this.timers.now());
    this.decidedHere = new ArrivalRate(this.timers.now());
    this.writeBehind = new WriteBehind(this.link, this.clock, {
      flushMs,
      maxPending,
      timers: this.timers,
      onAnswer: ({ rule, key, limit }, answer) => this.learn({ rule, key, cost: 1, limit }, answer),
      onFailure: ({ rule, key, limit }) => this.isWholeFailure({ rule, key, cost: 1, limit }),
      onFlush: () => this.tend(),
    });
  }

  /** Live statistics of this process. */
  get stats(): CachedStats {
    const { link, writeBehind } = this;
    const now = this.timers.now();
    return {
      pendingUnits: writeBehind.pendingUnits,
      limitedKeys: [...this.counters.values()].reduce((keys, { denials }) => keys + denials.size, 0),
      denied: this.denied,
      confirmed: this.confirmed,
      flushes: writeBehind.flushes,
      failedFlushes: writeBehind.failedFlushes,
      roundTripMs: link.roundTrip / 1000,
      meanRoundTripMs: (link.meanRoundTrip ?? 0) / 1000,
      worstRoundTripMs: link.worstRoundTrip.value(now) / 1000,
      timerLagMs: writeBehind.timerLag / 1000,
      worstTimerLagMs: writeBehind.worstTimerLag.value(now) / 1000,
      arrivalsPerSecond: this.arrivals.perSecond(now),
      overAdmissionBound: (this.decidedHere.perSecond(now) * this.unwrittenMs(now)) / 1000,
      droppedUnits: { ...writeBehind.dropped },
    };
  }

  override apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]> {
    if (operations.some(hasSlots)) return this.passOn(action, operations, options);
    if (action === "charge" && options?.idempotencyKey === undefined) return this.chargeEach(operations, options);
    // Only the store remembers idempotency keys.
    if (action !== "take" || options?.idempotencyKey !== undefined) return this.handOn(action, operations, options);
    const now = this.clock.now();
    if (this.read && !this.link.failing && !this.isKnownDenied(operations, now))
      return this.readAndTake(operations, options);
    if (this.confirm && !this.link.failing && this.mustConfirm(operations, now)) {
      return this.confirmTake(operations, options);
    }
    return this.take(operations, options, now);
  }

  /** Writes what is pending and closes the inner store. */
  override async close(): Promise<void> {
    await this.writeBehind.end();
    await super.close();
  }

  private async chargeEach(
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    return Promise.all(
      operations.map(async (operation) => {
        const [answer] = await this.apply("take", [operation], options);
        return answer.allowed || operation.cost === 0 ? answer : this.chargeDenied(operation, answer);
      }),
    );
  }

  /** Charges an operation that was denied, here at once and in the store with the next write. */
  private chargeDenied(operation: Operation, denial: Answer): Answer {
    const { key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.local(operation.rule);
    const now = this.clock.now();
    this.own.apply("penalize", [operation]);
    local.quotas.spend(key, limit, cost);
    this.writeBehind.add(local, operation, now);
    const { retryAfter, resetAfter } = local.evaluate(limit, key, cost, now);
    return {
      ...denial,
      remaining: 0,
      retryAfter: Math.max(denial.retryAfter, retryAfter),
      resetAfter: Math.max(denial.resetAfter, resetAfter),
    };
  }

  /** Decides locally. `isWritten`: whether admitted requests are written to the store. */
  private take(
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
    now: number,
    isWritten = true,
  ): readonly Answer[] {
    if (options?.voidFrom !== undefined && now >= options.voidFrom) {
      throw new StoreError("HG_STORE_TIMEOUT", "received the request after its deadline");
    }
    for (const { cost } of operations) {
      this.arrivals.add(cost);
      this.decidedHere.add(cost);
    }
    if (!this.isKnownDenied(operations, now))
      return operations.map((operation) => this.admit(operation, now, isWritten));
    this.denied += 1;
    return operations.map((operation) => this.denialAnswer(operation, now));
  }

  /**
   * Whether a request cannot be decided locally: it is neither known to be denied nor known to be well within its
   * limits.
   */
  private mustConfirm(operations: readonly Operation[], now: number): boolean {
    const time = this.timers.now();
    let isKnown = true;
    for (const operation of operations) {
      const { key, cost } = operation;
      const limit = limitOf(operation);
      const local = this.local(operation.rule);
      // A client's timer may fire up to a millisecond early: a request sent at the promised time must be admitted.
      if (this.denialOf(operation, local, time + TIMER_EARLINESS) !== undefined) return false;
      const left = local.quotas.left(key, limit, time, this.refresh);
      if (left === undefined || (left === UNKNOWABLE && !this.link.isPartial)) isKnown = false;
      else if (left - cost < NEAR_LIMIT * limit.burst) isKnown = false;
      else if (left !== UNKNOWABLE && !local.evaluate(limit, key, cost, now).allowed) isKnown = false;
    }
    return !isKnown;
  }

  /** Lets the store decide. Pending writes for the same keys are sent ahead, in the same batch. */
  private async confirmTake(
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    const sent = operations.map(({ rule, key, cost }) => ({ home: this.local(rule), key, units: cost }));
    for (const { home, key } of sent) this.writeBehind.writeNow(home, key);
    for (const [i, units] of sent.entries()) {
      takeOff(units);
      units.home.quotas.spend(units.key, limitOf(operations[i]), units.units);
    }
    let answers: readonly Answer[];
    try {
      answers = await this.link.ask("take", operations, options);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return this.takeUnconfirmed(operations, options, error);
    } finally {
      sent.forEach(land);
    }
    this.confirmed += 1;
    for (const { cost } of operations) this.arrivals.add(cost);
    const isCharged = answers.every(({ allowed }) => allowed);
    for (const [i, operation] of operations.entries()) {
      if (isCharged) this.charge(operation);
      this.learn(operation, answers[i]);
    }
    return answers;
  }

  /** Decides locally because the store did not answer. Units that the store may have charged are not written again. */
  private takeUnconfirmed(
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
    error: StoreError,
  ): readonly Answer[] {
    const isPartial = error.scope === "key" || this.link.isPartial;
    const isWhole = operations.map((operation) => this.isWholeFailure(operation, isPartial)).includes(true);
    if (isWhole) this.link.fail("take", error);
    return this.take(operations, options, this.clock.now(), error.code === "HG_STORE_REFUSED");
  }

  /** If only a part of the store fails, the keys of that part are decided locally until it is time to ask again. */
  private isWholeFailure(operation: Operation, isPartial = this.link.isPartial): boolean {
    const { rule, key } = operation;
    const { quotas } = this.local(rule);
    if (this.confirm && isPartial) {
      quotas.set(key, limitOf(operation), UNKNOWABLE, this.timers.now());
      return false;
    }
    quotas.delete(key);
    return true;
  }

  /** Counts what the store admitted. If that does not fit into what was admitted here, the key was reset elsewhere. */
  private charge(operation: Operation): void {
    const { rule, key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.local(rule);
    if (!local.evaluate(limit, key, cost, this.clock.now()).allowed) this.forget(operation, local);
    this.own.apply("penalize", [operation]);
    const denial = local.denials.get(key, this.timers.now());
    if (denial !== undefined && denial.cost <= cost && sameLimit(denial.limit, limit)) local.denials.delete(key);
  }

  private async readAndTake(
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    try {
      const answers = await this.link.ask("peek", operations);
      if (answers.some(({ allowed }) => !allowed)) {
        for (const [i, answer] of answers.entries()) this.learn(operations[i], answer);
        return answers;
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.link.fail("peek", error);
    }
    return this.take(operations, options, this.clock.now());
  }

  /** Lets the store decide a request for slots, which are never cached, after the pending writes of its other limits. */
  private async passOn(
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    const others = operations.filter((operation) => !hasSlots(operation));
    await Promise.all(others.map(({ rule, key }) => this.writeBehind.settle(this.local(rule), key)));
    const answers = await this.store.apply(action, operations, options);
    const isNew = action === "take" && options?.idempotencyKey === undefined;
    if (isNew && answers.every(({ allowed }) => allowed)) for (const operation of others) this.charge(operation);
    return answers;
  }

  /** Passes a call to the store after the pending writes. */
  private async handOn(
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    const locals = operations.map(({ rule }) => this.local(rule));
    await Promise.all(operations.map(({ key }, i) => this.writeBehind.settle(locals[i], key)));
    // The answer to a repeated request may be old, so nothing can be learned from it.
    if (options?.idempotencyKey !== undefined) return this.store.apply(action, operations, options);
    const denials = operations.map(({ key }, i) => locals[i].denials.get(key, this.timers.now()));
    const forgotten = action === "reset" ? operations.map(({ key }, i) => this.writeBehind.take(locals[i], key)) : [];
    let answers: readonly Answer[];
    try {
      answers = await this.store.apply(action, operations, options);
    } catch (error) {
      for (const delta of forgotten) if (delta !== undefined) this.writeBehind.putBack(delta);
      throw error;
    }
    if (action === "penalize" || action === "refund" || action === "settle") this.own.apply(action, operations);
    for (const [i, operation] of operations.entries()) {
      if (action === "reset") this.forget(operation, locals[i]);
      this.learn({ ...operation, cost: action === "peek" ? operation.cost : 1 }, answers[i]);
      this.lift(operation, answers[i], denials[i]);
    }
    return answers;
  }

  /** Whether a request is known to be over a limit. */
  private isKnownDenied(operations: readonly Operation[], now: number): boolean {
    const time = this.timers.now();
    for (const operation of operations) {
      const local = this.local(operation.rule);
      if (this.denialOf(operation, local, time) !== undefined) return true;
      if (!local.evaluate(limitOf(operation), operation.key, operation.cost, now).allowed) return true;
    }
    return false;
  }

  private denialOf(operation: Operation, local: CachedCounter, time: number): Denial | undefined {
    const { key, cost } = operation;
    const denial = local.denials.get(key, time);
    if (denial === undefined || cost < denial.cost || !sameLimit(denial.limit, limitOf(operation))) return undefined;
    return denial;
  }

  /** Admits a request that fits. */
  private admit(operation: Operation, now: number, isWritten: boolean): Answer {
    const { key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.local(operation.rule);
    const { remaining, resetAfter } = local.spend(limit, key, cost, now);
    const known = local.quotas.spend(key, limit, cost);
    const left = this.link.failing ? undefined : known;
    const isAlone = left === UNKNOWABLE && this.link.isPartial;
    if (cost > 0 && isWritten && !isAlone) this.writeBehind.add(local, operation, now);
    else if (cost > 0) this.writeBehind.dropped.unconfirmed += cost;
    return this.answer(operation, now, true, Math.max(0, Math.min(remaining, left ?? remaining)), 0, resetAfter);
  }

  /** The answer for one operation of a denied request, which may not be the operation that caused the denial. */
  private denialAnswer(operation: Operation, now: number): Answer {
    const { key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.local(operation.rule);
    const time = this.timers.now();
    const denial = this.denialOf(operation, local, time);
    if (denial !== undefined) return this.denial(operation, local, denial, now);
    const { allowed, retryAfter } = local.evaluate(limit, key, cost, now);
    const { remaining, resetAfter } = local.evaluate(limit, key, 0, now);
    if (allowed || retryAfter === Number.POSITIVE_INFINITY) {
      return this.answer(operation, now, allowed, remaining, retryAfter, resetAfter);
    }
    const late = this.lateness(time);
    // This process's own use exceeds the limit, so the denial holds unless the key is reset elsewhere.
    const until = time + retryAfter + late;
    const own = { limit, cost, until, fullAt: time + resetAfter + late, ahead: now - time, checkedAt: time };
    local.denials.set(key, own, time);
    void this.verify(operation, local, own);
    return this.answer(operation, now, false, remaining, retryAfter + late, resetAfter + late);
  }

  private denial(operation: Operation, local: CachedCounter, denial: Denial, now: number): Answer {
    const { key, cost } = operation;
    const { limit } = denial;
    const time = this.timers.now();
    if (Math.abs(time - denial.checkedAt) >= this.refresh) {
      denial.checkedAt = time;
      void this.verify(operation, local, denial);
    }
    const left = denial.until - time;
    const own = cost === denial.cost ? 0 : local.evaluate(limit, key, cost, now).retryAfter;
    const retryAfter = Math.max(left, own > 0 ? own + this.lateness(time) : 0);
    const remaining = denial.cost === 1 ? 0 : local.evaluate(limit, key, 0, now).remaining;
    return this.answer(operation, time + denial.ahead, false, remaining, retryAfter, Math.max(0, denial.fullAt - time));
  }

  private answer(
    operation: Operation,
    time: number,
    allowed: boolean,
    remaining: number,
    retryAfter: number,
    resetAfter: number,
  ): Answer {
    const { rule, key } = operation;
    const left = this.local(rule).quotas.left(key, limitOf(operation), this.timers.now(), this.refresh);
    const isAlone = left === UNKNOWABLE;
    const degraded = this.link.degraded || isAlone;
    return { time, allowed, remaining, retryAfter, resetAfter, source: "cache", degraded };
  }

  /** Asks the store whether a denial still holds, unless pending writes will return that anyway. */
  private async verify({ rule, key }: Operation, local: CachedCounter, denial: Denial): Promise<void> {
    await this.writeBehind.settle(local, key);
    if (local.denials.get(key, this.timers.now()) !== denial) return;
    const operation = { rule, key, cost: 1, limit: denial.limit };
    try {
      const [answer] = await this.link.ask("peek", [operation]);
      this.learn(operation, answer);
      this.lift(operation, answer, denial);
    } catch (error) {
      if (!this.link.isPartial) this.link.fail("peek", error);
    }
  }

  /** Remembers what the store reported: the remaining quota, and until when requests are denied. */
  private learn(operation: Operation, answer: Answer): void {
    const { rule, key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.local(rule);
    const { allowed, remaining, retryAfter, resetAfter } = answer;
    const time = this.timers.now();
    // A fallback inside the store does not know the quota.
    if (answer.degraded) local.quotas.delete(key);
    else if (this.confirm) local.quotas.set(key, limit, remaining - this.writeBehind.unwritten(local, key), time);
    if (allowed || cost === 0 || retryAfter === Number.POSITIVE_INFINITY) return;
    const known = local.denials.get(key, time);
    if (known !== undefined && known.cost < cost && sameLimit(known.limit, limit)) return;
    const ahead = answer.time - time;
    const denial = { limit, cost, until: time + retryAfter, fullAt: time + resetAfter, ahead, checkedAt: time };
    local.denials.set(key, denial, time);
  }

  /** Lifts a denial if the store has room; it was asked after all writes that led to the denial. */
  private lift(operation: Operation, { remaining }: Answer, denial: Denial | undefined): void {
    const { rule, key } = operation;
    const local = this.local(rule);
    if (denial === undefined || local.denials.get(key, this.timers.now()) !== denial) return;
    if (!sameLimit(denial.limit, limitOf(operation))) return;
    if (remaining - this.writeBehind.unwritten(local, key) < denial.cost) return;
    if (local.evaluate(denial.limit, key, denial.cost, this.clock.now()).allowed) local.denials.delete(key);
    else this.forget(operation, local);
  }

  /** Resets a key locally, except for units that are still to be written. */
  private forget(operation: Operation, local: CachedCounter): void {
    const { key } = operation;
    local.denials.delete(key);
    this.own.apply("reset", [operation]);
    this.own.apply("penalize", [{ ...operation, cost: this.writeBehind.unwritten(local, key) }]);
  }

  private local(rule: Rule): CachedCounter {
    const counter = counterOf(rule);
    let local = this.counters.get(counter);
    if (local === undefined) {
      local = new CachedCounter(rule, this.own, this.maxKeys);
      this.counters.set(counter, local);
    }
    return local;
  }

  /** How long an admitted unit can be unknown to the store: it waits for the timer, which may be late, and travels. */
  private unwrittenMs(time: number): number {
    return this.flushMs + (this.writeBehind.worstTimerLag.value(time) + this.link.worstRoundTrip.value(time)) / 1000;
  }

  /** How much later than this process the store charges a unit, and so has room again, in microseconds. */
  private lateness(time: number): number {
    return this.link.failing ? 0 : this.unwrittenMs(time) * 1000;
  }

  private tend(): void {
    const now = this.timers.now();
    this.arrivals.perSecond(now);
    this.decidedHere.perSecond(now);
    for (const { denials } of this.counters.values()) denials.sweep(STEPS_PER_FLUSH, now);
  }
}

/** The system clock, with timers that do not keep the process alive. */
function quietClock(): Clock {
  const system = new SystemClock();
  return {
    now: () => system.now(),
    sleep: (ms) =>
      new Promise((resolve) => {
        setTimeout(resolve, ms).unref();
      }),
  };
}
