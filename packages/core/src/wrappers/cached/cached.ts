import type { Clock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { StoreError } from "../../errors.ts";
import { hasSlots } from "../../stores/slot-operations.ts";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  askedCost,
  limitOf,
  type Operation,
  type Store,
} from "../../stores/store.ts";
import { StoreWrapper } from "../../stores/store-wrapper.ts";
import { ArrivalRate } from "./arrival-rate.ts";
import { type CachedOptions, readCachedOptions } from "./cached-options.ts";
import type { CachedStats } from "./cached-stats.ts";
import { LocalDecisions } from "./local-decisions.ts";
import { TimedStore } from "./timed-store.ts";
import { land, takeOff, WriteBehind } from "./write-behind.ts";

/** How many denials each flush inspects to remove expired ones. */
const STEPS_PER_FLUSH = 64;

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
  private readonly confirm: boolean;
  private readonly read: boolean;
  private readonly link: TimedStore;
  private readonly writeBehind: WriteBehind;
  private readonly decisions: LocalDecisions;
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
    this.confirm = confirm && !read;
    this.read = read;
    this.link = new TimedStore(store, this.timers);
    this.arrivals = new ArrivalRate(this.timers.now());
    this.decidedHere = new ArrivalRate(this.timers.now());
    this.writeBehind = new WriteBehind(this.link, this.clock, {
      flushMs,
      maxPending,
      timers: this.timers,
      onAnswer: ({ rule, key, limit }, answer) => this.decisions.learn({ rule, key, cost: 1, limit }, answer),
      onFailure: ({ rule, key, limit }) => this.decisions.isWholeFailure({ rule, key, cost: 1, limit }),
      onFlush: () => this.tend(),
    });
    this.decisions = new LocalDecisions(this.link, this.writeBehind, this.clock, {
      timers: this.timers,
      confirm: this.confirm,
      refreshMs,
      flushMs,
      maxKeys,
    });
  }

  /** Live statistics of this process. */
  get stats(): CachedStats {
    const { link, writeBehind } = this;
    const now = this.timers.now();
    return {
      pendingUnits: writeBehind.pendingUnits,
      limitedKeys: [...this.decisions.counters.values()].reduce((keys, { denials }) => keys + denials.size, 0),
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
      overAdmissionBound: (this.decidedHere.perSecond(now) * this.decisions.unwrittenMs(now)) / 1000,
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
    if (this.read && !this.link.failing && !this.decisions.isKnownDenied(operations, now))
      return this.readAndTake(operations, options);
    if (this.confirm && !this.link.failing && this.decisions.mustConfirm(operations, now)) {
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
        return answer.allowed || operation.cost === 0 ? answer : this.decisions.chargeDenied(operation, answer);
      }),
    );
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
    const { decisions } = this;
    if (!decisions.isKnownDenied(operations, now)) {
      return operations.map((operation) => decisions.admit(operation, now, isWritten));
    }
    this.denied += 1;
    return operations.map((operation) => decisions.denialAnswer(operation, now));
  }

  /** Lets the store decide. Pending writes for the same keys are sent ahead, in the same batch. */
  private async confirmTake(
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    const sent = operations.map(({ rule, key, cost }) => ({ home: this.decisions.counter(rule), key, units: cost }));
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
      if (isCharged) this.decisions.charge(operation);
      this.decisions.learn(operation, answers[i]);
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
    const isWhole = operations.map((operation) => this.decisions.isWholeFailure(operation, isPartial)).includes(true);
    if (isWhole) this.link.fail("take", error);
    return this.take(operations, options, this.clock.now(), error.code === "HG_STORE_REFUSED");
  }

  private async readAndTake(
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    try {
      const answers = await this.link.ask("peek", operations);
      if (answers.some(({ allowed }) => !allowed)) {
        for (const [i, answer] of answers.entries()) this.decisions.learn(operations[i], answer);
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
    await Promise.all(others.map(({ rule, key }) => this.writeBehind.settle(this.decisions.counter(rule), key)));
    const answers = await this.store.apply(action, operations, options);
    const isNew = action === "take" && options?.idempotencyKey === undefined;
    if (isNew && answers.every(({ allowed }) => allowed))
      for (const operation of others) this.decisions.charge(operation);
    return answers;
  }

  /** Passes a call to the store after the pending writes. */
  private async handOn(
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    const locals = operations.map(({ rule }) => this.decisions.counter(rule));
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
    if (action === "penalize" || action === "refund" || action === "settle") this.decisions.correct(action, operations);
    const charged = action === "takeFirst" ? answers.findIndex(({ allowed }) => allowed) : -1;
    for (const [i, operation] of operations.entries()) {
      if (i === charged) this.decisions.charge(operation);
      if (action === "reset") this.decisions.forget(operation, locals[i]);
      this.decisions.learn({ ...operation, cost: askedCost(action, operation) }, answers[i]);
      this.decisions.lift(operation, answers[i], denials[i]);
    }
    return answers;
  }

  private tend(): void {
    const now = this.timers.now();
    this.arrivals.perSecond(now);
    this.decidedHere.perSecond(now);
    for (const { denials } of this.decisions.counters.values()) denials.sweep(STEPS_PER_FLUSH, now);
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
