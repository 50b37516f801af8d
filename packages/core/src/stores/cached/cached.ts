import { HeadgateError, StoreError, shown } from "../../errors.ts";
import { sameLimit } from "../../limit/limit.ts";
import type { Clock } from "../../time/clock.ts";
import { SystemClock } from "../../time/system-clock.ts";
import type { Holds } from "../holds.ts";
import { MemoryStore } from "../memory/memory-store.ts";
import type { Action, Answer, ApplyOptions, Operation, Rule, Store } from "../store.ts";
import { ArrivalRate } from "./arrival-rate.ts";
import type { Denial } from "./denials.ts";
import { LocalRule } from "./local-rule.ts";
import { type CachedOptions, readCachedOptions } from "./options.ts";
import { StoreLink } from "./store-link.ts";
import { type DroppedUnits, WriteBehind } from "./write-behind.ts";

/** How many denials each flush looks at, to forget those that are over. */
const STEPS_PER_FLUSH = 64;

/** How a cached store stands. */
export interface CachedStats {
  /** Units let in here that the store has not confirmed yet. */
  readonly pendingUnits: number;
  /** Keys of which it is known here that they are limited. */
  readonly limitedKeys: number;
  /** Requests denied here, without the store. */
  readonly denied: number;
  readonly flushes: number;
  readonly failedFlushes: number;
  /** How long the store took for its latest answer, and takes on the whole. */
  readonly roundTripMs: number;
  readonly meanRoundTripMs: number;
  /** Units asked for here each second, by a moving mean. */
  readonly arrivalsPerSecond: number;
  /** What this process may let in over a limit, in units: its arrivals while a flush waits and travels. */
  readonly overAdmissionBound: number;
  readonly droppedUnits: DroppedUnits;
}

/**
 * Makes any store answer at once: a request is decided by what this process knows, and the store is told a
 * little later, in batches. Whoever the store then calls limited is denied here until his time has come.
 */
export function cached(store: Store, options: CachedOptions = {}): CachedStore {
  if (typeof store?.apply !== "function") {
    throw new HeadgateError("HG_BAD_OPTION", "store", `must be a store such as a RedisStore, got ${shown(store)}`);
  }
  return new CachedStore(store, options);
}

export class CachedStore implements Store {
  readonly clock: Clock;
  /** Those of the store: what is reserved has an idempotency key, and goes there at once. */
  readonly holds?: Holds;
  private readonly store: Store;
  private readonly flushMs: number;
  private readonly refresh: number;
  private readonly maxKeys: number;
  private readonly read: boolean;
  private readonly link: StoreLink;
  private readonly writeBehind: WriteBehind;
  /** What this process let in itself: that alone must fit into the limit, whatever the store will say. */
  private readonly own: MemoryStore;
  private readonly rules = new Map<string, LocalRule>();
  private readonly arrivals: ArrivalRate;
  private denied = 0;

  constructor(store: Store, options: CachedOptions) {
    const { flushMs, refreshMs, maxPending, maxKeys, read, clock } = readCachedOptions(options);
    this.store = store;
    if (store.holds !== undefined) this.holds = store.holds;
    this.clock = store.clock ?? clock ?? new SystemClock();
    this.flushMs = flushMs;
    this.refresh = refreshMs * 1000;
    this.maxKeys = maxKeys;
    this.read = read;
    this.link = new StoreLink(store, this.clock);
    this.own = new MemoryStore({ clock: this.clock, maxKeys });
    this.arrivals = new ArrivalRate(this.clock.now());
    this.writeBehind = new WriteBehind(this.link, this.clock, {
      flushMs,
      maxPending,
      sleep: clock === undefined ? quietSleep : (ms) => clock.sleep(ms),
      onAnswer: (rule, key, answer) => this.heed({ rule, key, cost: 1 }, answer),
      onFlush: () => this.tend(),
    });
  }

  get stats(): CachedStats {
    const { link, writeBehind } = this;
    const arrivalsPerSecond = this.arrivals.perSecond(this.clock.now());
    const meanRoundTripMs = (link.meanRoundTrip ?? 0) / 1000;
    return {
      pendingUnits: writeBehind.pendingUnits,
      limitedKeys: [...this.rules.values()].reduce((keys, { denials }) => keys + denials.size, 0),
      denied: this.denied,
      flushes: writeBehind.flushes,
      failedFlushes: writeBehind.failedFlushes,
      roundTripMs: link.roundTrip / 1000,
      meanRoundTripMs,
      arrivalsPerSecond,
      overAdmissionBound: (arrivalsPerSecond * (this.flushMs + meanRoundTripMs)) / 1000,
      droppedUnits: { ...writeBehind.dropped },
    };
  }

  apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]> {
    // Only the store remembers requests by their idempotency keys.
    if (action !== "take" || options?.idempotencyKey !== undefined) return this.handOn(action, operations, options);
    const now = this.clock.now();
    if (this.read && !this.link.failing && !this.refuses(operations, now)) return this.readAndTake(operations, options);
    return this.take(operations, options, now);
  }

  /** Writes what is pending, and closes the store if it can be closed. */
  async close(): Promise<void> {
    await this.writeBehind.end();
    if ("close" in this.store && typeof this.store.close === "function") await this.store.close();
  }

  private take(operations: readonly Operation[], options: ApplyOptions | undefined, now: number): readonly Answer[] {
    if (options?.voidFrom !== undefined && now >= options.voidFrom) {
      throw new StoreError("HG_STORE_TIMEOUT", "was asked too late: the time that the request had is over");
    }
    for (const { cost } of operations) this.arrivals.add(cost);
    if (!this.refuses(operations, now)) return operations.map((operation) => this.admit(operation, now));
    this.denied += 1;
    return operations.map((operation) => this.standing(operation, now));
  }

  private async readAndTake(
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    try {
      const answers = await this.link.ask("peek", operations);
      if (answers.some(({ allowed }) => !allowed)) {
        for (const [i, answer] of answers.entries()) this.heed(operations[i], answer);
        return answers;
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.link.fail("peek", error);
    }
    return this.take(operations, options, this.clock.now());
  }

  /** Asks the store, which must have been told before of what is pending. */
  private async handOn(
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<readonly Answer[]> {
    const locals = operations.map(({ rule }) => this.local(rule));
    await Promise.all(operations.map(({ key }, i) => this.writeBehind.settle(locals[i], key)));
    // The answer to a repeated request is an old one: nothing can be learned from it.
    if (options?.idempotencyKey !== undefined) return this.store.apply(action, operations, options);
    const denials = operations.map(({ key }, i) => locals[i].denials.get(key, this.clock.now()));
    const forgotten = action === "reset" ? operations.map(({ key }, i) => this.writeBehind.take(locals[i], key)) : [];
    let answers: readonly Answer[];
    try {
      answers = await this.store.apply(action, operations, options);
    } catch (error) {
      for (const delta of forgotten) if (delta !== undefined) this.writeBehind.putBack(delta);
      throw error;
    }
    if (action === "penalize" || action === "refund") this.own.apply(action, operations);
    for (const [i, operation] of operations.entries()) {
      if (action === "reset") this.forget(operation, locals[i]);
      this.heed({ ...operation, cost: action === "peek" ? operation.cost : 1 }, answers[i]);
      this.lift(operation, answers[i], denials[i]);
    }
    return answers;
  }

  /** Whether a request is known to be over a limit. */
  private refuses(operations: readonly Operation[], now: number): boolean {
    for (const operation of operations) {
      const local = this.local(operation.rule);
      if (this.denialOf(operation, local, now) !== undefined) return true;
      if (!local.evaluate(operation.key, operation.cost, now).allowed) return true;
    }
    return false;
  }

  private denialOf({ key, cost }: Operation, local: LocalRule, now: number): Denial | undefined {
    const denial = local.denials.get(key, now);
    return denial !== undefined && cost >= denial.cost ? denial : undefined;
  }

  /** Lets a request in, which must fit. */
  private admit(operation: Operation, now: number): Answer {
    const { key, cost } = operation;
    const local = this.local(operation.rule);
    const { remaining, resetAfter } = local.spend(key, cost, now);
    if (cost > 0) this.writeBehind.add(local, key, cost, now);
    return this.answer(now, true, remaining, 0, resetAfter);
  }

  /** How one of the operations of a denied request stands; it may not be the one that refused. */
  private standing(operation: Operation, now: number): Answer {
    const { key, cost } = operation;
    const local = this.local(operation.rule);
    const denial = this.denialOf(operation, local, now);
    if (denial !== undefined) return this.denial(operation, local, denial, now);
    const { allowed, retryAfter } = local.evaluate(key, cost, now);
    const { remaining, resetAfter } = local.evaluate(key, 0, now);
    const answer = this.answer(now, allowed, remaining, retryAfter, resetAfter);
    // This process's own use is over the limit: that holds unless somebody has reset the key elsewhere.
    if (!allowed && retryAfter < Number.POSITIVE_INFINITY) {
      const denial = { cost, until: now + retryAfter, fullAt: now + resetAfter, ahead: 0, askedAt: now };
      local.denials.set(key, denial, now);
      void this.verify(operation, local, denial);
    }
    return answer;
  }

  private denial(operation: Operation, local: LocalRule, denial: Denial, now: number): Answer {
    const { key, cost } = operation;
    if (Math.abs(now - denial.askedAt) >= this.refresh) {
      denial.askedAt = now;
      void this.verify(operation, local, denial);
    }
    const left = denial.until - now;
    const retryAfter = cost === denial.cost ? left : Math.max(left, local.evaluate(key, cost, now).retryAfter);
    const remaining = denial.cost === 1 ? 0 : local.evaluate(key, 0, now).remaining;
    return this.answer(now + denial.ahead, false, remaining, retryAfter, Math.max(0, denial.fullAt - now));
  }

  private answer(time: number, allowed: boolean, remaining: number, retryAfter: number, resetAfter: number): Answer {
    return { time, allowed, remaining, retryAfter, resetAfter, source: "cache", degraded: this.link.degraded };
  }

  /** Asks the store whether a denial still holds, unless it says so by itself when it is told what is pending. */
  private async verify({ rule, key }: Operation, local: LocalRule, denial: Denial): Promise<void> {
    await this.writeBehind.settle(local, key);
    if (local.denials.get(key, this.clock.now()) !== denial) return;
    const operation = { rule, key, cost: 1 };
    try {
      const [answer] = await this.link.ask("peek", [operation]);
      this.heed(operation, answer);
      this.lift(operation, answer, denial);
    } catch (error) {
      this.link.fail("peek", error);
    }
  }

  /** Remembers a denial of the store. */
  private heed({ rule, key, cost }: Operation, { time, allowed, retryAfter, resetAfter }: Answer): void {
    const local = this.unchanged(rule);
    if (local === undefined || allowed || cost === 0 || retryAfter === Number.POSITIVE_INFINITY) return;
    const now = this.clock.now();
    const known = local.denials.get(key, now);
    if (known !== undefined && known.cost < cost) return;
    const denial = { cost, until: now + retryAfter, fullAt: now + resetAfter, ahead: time - now, askedAt: now };
    local.denials.set(key, denial, now);
  }

  /** Lifts a denial for which the store has room: it was asked after it had been told of all that led to the denial. */
  private lift(operation: Operation, { remaining }: Answer, denial: Denial | undefined): void {
    const { rule, key } = operation;
    const local = this.unchanged(rule);
    const now = this.clock.now();
    if (local === undefined || denial === undefined || local.denials.get(key, now) !== denial) return;
    if (remaining - this.writeBehind.unwritten(local, key) < denial.cost) return;
    if (local.evaluate(key, denial.cost, now).allowed) local.denials.delete(key);
    else this.forget(operation, local);
  }

  /** A key starts anew, but for what the store is still to be told. */
  private forget({ rule, key }: Operation, local: LocalRule): void {
    local.denials.delete(key);
    this.own.apply("reset", [{ rule, key, cost: 1 }]);
    this.own.apply("penalize", [{ rule, key, cost: this.writeBehind.unwritten(local, key) }]);
  }

  /** What is known of a rule, unless its limit has changed since the store was asked. */
  private unchanged(rule: Rule): LocalRule | undefined {
    const known = this.rules.get(rule.name);
    return known === undefined || sameLimit(known.rule.limit, rule.limit) ? this.local(rule) : undefined;
  }

  private local(rule: Rule): LocalRule {
    const known = this.rules.get(rule.name);
    if (known === undefined) {
      const local = new LocalRule(rule, this.own.ledger(rule), this.maxKeys);
      this.rules.set(rule.name, local);
      return local;
    }
    if (known.rule.limit !== rule.limit && !sameLimit(known.rule.limit, rule.limit)) {
      known.use(rule, this.own.ledger(rule));
    }
    return known;
  }

  private tend(): void {
    const now = this.clock.now();
    this.arrivals.perSecond(now);
    for (const { denials } of this.rules.values()) denials.sweep(STEPS_PER_FLUSH, now);
  }
}

/** A timer that does not keep the process alive. */
function quietSleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
