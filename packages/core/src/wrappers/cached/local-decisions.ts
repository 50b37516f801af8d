import type { Clock } from "../../clock/clock.ts";
import { sameLimit } from "../../limits/limit.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { type Action, type Answer, counterOf, limitOf, type Operation, type Rule } from "../../stores/store.ts";
import { CachedCounter } from "./cached-counter.ts";
import type { Denial } from "./remembered-denials.ts";
import type { TimedStore } from "./timed-store.ts";
import type { WriteBehind } from "./write-behind.ts";

/** The store decides about keys with less than this share of their limit left. */
const NEAR_LIMIT = 0.2;
/** Remaining quota of a key when the store cannot be asked: only this process's own use limits it. */
const UNKNOWABLE = Number.POSITIVE_INFINITY;
/** How early a client's timer may fire, in microseconds. */
const TIMER_EARLINESS = 1_000;

interface LocalDecisionsOptions {
  readonly refreshMs: number;
  /** Whether the store confirms admissions near the limit. */
  readonly confirm: boolean;
  readonly flushMs: number;
  readonly maxKeys: number;
  /** The local clock. */
  readonly timers: Clock;
}

/** Decides requests by what this process admitted and by what the store reported about their keys. */
export class LocalDecisions {
  readonly counters = new Map<string, CachedCounter>();
  private readonly link: TimedStore;
  private readonly writeBehind: WriteBehind;
  private readonly clock: Clock;
  private readonly timers: Clock;
  private readonly refresh: number;
  private readonly confirm: boolean;
  private readonly flushMs: number;
  private readonly maxKeys: number;
  /** What this process admitted: this alone must fit into the limit, whatever the store reports. */
  private readonly own: MemoryStore;

  constructor(link: TimedStore, writeBehind: WriteBehind, clock: Clock, options: LocalDecisionsOptions) {
    const { refreshMs, confirm, flushMs, maxKeys, timers } = options;
    this.link = link;
    this.writeBehind = writeBehind;
    this.clock = clock;
    this.timers = timers;
    this.refresh = refreshMs * 1000;
    this.confirm = confirm;
    this.flushMs = flushMs;
    this.maxKeys = maxKeys;
    this.own = new MemoryStore({ clock, maxKeys });
  }

  /**
   * Whether a request cannot be decided locally: it is neither known to be denied nor known to be well within its
   * limits.
   */
  mustConfirm(operations: readonly Operation[], now: number): boolean {
    const time = this.timers.now();
    let isKnown = true;
    for (const operation of operations) {
      const { key, cost } = operation;
      const limit = limitOf(operation);
      const local = this.counter(operation.rule);
      // A client's timer may fire up to a millisecond early: a request sent at the promised time must be admitted.
      if (this.denialOf(operation, local, time + TIMER_EARLINESS) !== undefined) return false;
      const left = local.quotas.left(key, limit, time, this.refresh);
      if (left === undefined || (left === UNKNOWABLE && !this.link.isPartial)) isKnown = false;
      else if (left - cost < NEAR_LIMIT * limit.burst) isKnown = false;
      else if (left !== UNKNOWABLE && !local.evaluate(limit, key, cost, now).allowed) isKnown = false;
    }
    return !isKnown;
  }

  /** Charges an operation that was denied, here at once and in the store with the next write. */
  chargeDenied(operation: Operation, denial: Answer): Answer {
    const { key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.counter(operation.rule);
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

  /** Makes a correction that the store has made. */
  correct(action: Action, operations: readonly Operation[]): void {
    this.own.apply(action, operations);
  }

  /** If only a part of the store fails, the keys of that part are decided locally until it is time to ask again. */
  isWholeFailure(operation: Operation, isPartial = this.link.isPartial): boolean {
    const { rule, key } = operation;
    const { quotas } = this.counter(rule);
    if (this.confirm && isPartial) {
      quotas.set(key, limitOf(operation), UNKNOWABLE, this.timers.now());
      return false;
    }
    quotas.delete(key);
    return true;
  }

  /** Counts what the store admitted. If that does not fit into what was admitted here, the key was reset elsewhere. */
  charge(operation: Operation): void {
    const { rule, key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.counter(rule);
    if (!local.evaluate(limit, key, cost, this.clock.now()).allowed) this.forget(operation, local);
    this.own.apply("penalize", [operation]);
    const denial = local.denials.get(key, this.timers.now());
    if (denial !== undefined && denial.cost <= cost && sameLimit(denial.limit, limit)) local.denials.delete(key);
  }

  /** Whether a request is known to be over a limit. */
  isKnownDenied(operations: readonly Operation[], now: number): boolean {
    const time = this.timers.now();
    for (const operation of operations) {
      const local = this.counter(operation.rule);
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
  admit(operation: Operation, now: number, isWritten: boolean): Answer {
    const { key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.counter(operation.rule);
    const { remaining, resetAfter } = local.spend(limit, key, cost, now);
    const known = local.quotas.spend(key, limit, cost);
    const left = this.link.failing ? undefined : known;
    const isAlone = left === UNKNOWABLE && this.link.isPartial;
    if (cost > 0 && isWritten && !isAlone) this.writeBehind.add(local, operation, now);
    else if (cost > 0) this.writeBehind.dropped.unconfirmed += cost;
    return this.answer(operation, now, true, Math.max(0, Math.min(remaining, left ?? remaining)), 0, resetAfter);
  }

  /** The answer for one operation of a denied request, which may not be the operation that caused the denial. */
  denialAnswer(operation: Operation, now: number): Answer {
    const { key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.counter(operation.rule);
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
    const left = this.counter(rule).quotas.left(key, limitOf(operation), this.timers.now(), this.refresh);
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
  learn(operation: Operation, answer: Answer): void {
    const { rule, key, cost } = operation;
    const limit = limitOf(operation);
    const local = this.counter(rule);
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
  lift(operation: Operation, { remaining }: Answer, denial: Denial | undefined): void {
    const { rule, key } = operation;
    const local = this.counter(rule);
    if (denial === undefined || local.denials.get(key, this.timers.now()) !== denial) return;
    if (!sameLimit(denial.limit, limitOf(operation))) return;
    if (remaining - this.writeBehind.unwritten(local, key) < denial.cost) return;
    if (local.evaluate(denial.limit, key, denial.cost, this.clock.now()).allowed) local.denials.delete(key);
    else this.forget(operation, local);
  }

  /** Resets a key locally, except for units that are still to be written. */
  forget(operation: Operation, local: CachedCounter): void {
    const { key } = operation;
    local.denials.delete(key);
    this.own.apply("reset", [operation]);
    this.own.apply("penalize", [{ ...operation, cost: this.writeBehind.unwritten(local, key) }]);
  }

  counter(rule: Rule): CachedCounter {
    const counter = counterOf(rule);
    let local = this.counters.get(counter);
    if (local === undefined) {
      local = new CachedCounter(rule, this.own, this.maxKeys);
      this.counters.set(counter, local);
    }
    return local;
  }

  /** How long an admitted unit can be unknown to the store: it waits for the timer, which may be late, and travels. */
  unwrittenMs(time: number): number {
    return this.flushMs + (this.writeBehind.worstTimerLag.value(time) + this.link.worstRoundTrip.value(time)) / 1000;
  }

  /** How much later than this process the store charges a unit, and so has room again, in microseconds. */
  private lateness(time: number): number {
    return this.link.failing ? 0 : this.unwrittenMs(time) * 1000;
  }
}
