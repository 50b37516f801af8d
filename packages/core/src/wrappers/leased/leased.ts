import type { Clock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { StoreError } from "../../errors.ts";
import { differingShape, type Limit, sameLimit } from "../../limits/limit.ts";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  counterOf,
  type LeaseView,
  limitOf,
  type Operation,
  type Rule,
  type Store,
} from "../../stores/store.ts";
import { StoreWrapper } from "../../stores/store-wrapper.ts";
import { BatchSize } from "./batch-size.ts";
import { Lease } from "./lease.ts";
import { type LeasedCounter, LeasedCounters } from "./leased-counters.ts";
import { type LeasedOptions, readLeasedOptions, type Settings } from "./leased-options.ts";
import { type Counts, type LeasedStats, noCounts } from "./leased-stats.ts";
import { requireLeasable } from "./pool.ts";
import { PoolClient } from "./pool-client.ts";
import { PoolNotifications } from "./pool-notifications.ts";
import { StoreLatency } from "./store-latency.ts";

type Answers = readonly Answer[];

/**
 * Wraps a store so that quota is taken in batches and spent locally. Busy keys are decided without a round trip, and a
 * window still admits no more than its limit.
 */
export function leased(store: Store, options: LeasedOptions = {}): LeasedStore {
  return new LeasedStore(store, options);
}

/** A store made by `leased`. */
export class LeasedStore extends StoreWrapper {
  private readonly settings: Settings;
  private readonly time: Clock;
  /** The store's clock, or an estimate if the store has none. */
  private readonly storeTime: Clock;
  private readonly tempo = new StoreLatency();
  private readonly counters: LeasedCounters;
  private readonly counts: Counts = noCounts();
  private readonly poolNotifications: PoolNotifications;
  /** Unique prefix of the ids of this node's grants. */
  private readonly node = crypto.randomUUID();
  private grants = 0;
  private stopTending: AbortController | undefined;
  private isClosed = false;

  constructor(store: Store, options: LeasedOptions) {
    super(store);
    this.settings = readLeasedOptions(options);
    this.counters = new LeasedCounters(this.settings, this.tempo);
    this.time = this.settings.clock;
    this.storeTime = store.clock ?? options.clock ?? new SystemClock();
    this.poolNotifications = new PoolNotifications(store, this.time);
  }

  /** Live statistics of this process. */
  get stats(): LeasedStats {
    return { ...this.counts };
  }

  /** The lease that this process holds for a key, if any. */
  leaseOf(rule: string, key: string): LeaseView | undefined {
    return this.counters.named(rule)?.leases.get(key)?.units.view(this.time.now());
  }

  /** Rejects a rule that cannot be leased before its first request, and ends leases made under an earlier limit. */
  override open(rule: Rule, previous?: Limit): void {
    const counter = this.counters.of(rule);
    if (counter !== undefined) requireLeasable(rule.name, rule.limit);
    super.open(rule, previous);
    if (counter === undefined) return;
    for (const [key, lease] of counter.leases) {
      if (!sameLimit(lease.limit, rule.limit)) this.retire(counter, key, lease, rule.limit);
    }
  }

  override apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Answers | Promise<Answers> {
    if (this.isClosed) throw new StoreError("HG_STORE_UNREACHABLE", "this store is closed: create a new one");
    if (action === "charge") return this.chargeEach(operations, options);
    if (action === "takeFirst") return this.takeFirst(operations, options);
    if (action !== "take") return this.correct(action, operations, options);
    // Only the store remembers idempotency keys.
    if (options?.idempotencyKey !== undefined) return this.straight("take", operations, options);
    // The pool of a lease may take longer to answer than this caller can wait.
    if (operations.length > 1 || options?.answerWithin !== undefined) return this.takeTogether(operations, options);
    const [operation] = operations;
    const { cost } = operation;
    const now = this.time.now();
    const lease = this.leaseFor(operation, now);
    if (lease === undefined || cost > lease.pool.limit.burst) {
      return this.straight("take", operations, options);
    }
    const answer = lease.answer(cost, now);
    return answer === undefined ? lease.wait(cost).then(alone) : [answer];
  }

  /** Returns all held quota and closes the inner store. */
  override async close(): Promise<void> {
    this.isClosed = true;
    this.stopTending?.abort();
    const leases = this.counters.all().flatMap((counter) => [...counter.leases.values()]);
    await Promise.all(leases.map((lease) => lease.end()));
    this.poolNotifications.close();
    await super.close();
  }

  /**
   * The lease of a key that is busy enough to have one. A call with a limit other than the lease's goes to the store.
   */
  private leaseFor(operation: Operation, now: number): Lease | undefined {
    const { key } = operation;
    const limit = limitOf(operation);
    const counter = this.counters.of(operation.rule);
    const lease = counter?.leases.get(key);
    if (lease?.serves(limit)) return lease;
    if (counter === undefined || this.counters.poolOf(operation.rule, limit).most === 0) return undefined;
    if (lease !== undefined) {
      if (!lease.isReplacedBy(limit)) return undefined;
      this.retire(counter, key, lease, limit);
    } else if (this.counts.leases >= this.settings.maxLeases || !counter.heat.count(key, now)) {
      return undefined;
    }
    return this.promote(operation, counter, now);
  }

  private promote(operation: Operation, counter: LeasedCounter, now: number): Lease {
    const { store, time, settings, counts } = this;
    const { rule, key } = operation;
    const limit = limitOf(operation);
    const pool = this.counters.poolOf(rule, limit);
    const client = new PoolClient(store, rule, pool, key, time, this.newId);
    const lease: Lease = new Lease(limit, pool, client, new BatchSize(settings.base, now), {
      settings,
      counts,
      straight: async (cost) => only(await this.straight("take", [{ rule, key, cost, limit }])),
      notifyEmpty: (from, until, seenAt) =>
        this.poolNotifications.postEmpty(counter.name, key, pool.limit, from, until, seenAt),
      notifyFilled: (at) => this.poolNotifications.postFilled(counter.name, key, at),
      ahead: () => this.storeTime.now() - time.now(),
    });
    counter.leases.set(key, lease);
    counts.leases += 1;
    this.poolNotifications.follow(counter.name, key, pool.limit, lease);
    if (this.stopTending === undefined) void this.tend();
    return lease;
  }

  /** Ends a lease because the limit has changed. What it holds is given back if it counts under the new limit. */
  private retire(counter: LeasedCounter, key: string, lease: Lease, limit: Limit): void {
    this.letGo(counter, key);
    // Otherwise, what is left of a window of one limit would be mistaken for quota of the other.
    if (differingShape(lease.limit, limit) === undefined) void lease.end();
    else lease.drop();
  }

  private letGo({ name, leases }: LeasedCounter, key: string): Lease | undefined {
    const lease = leases.get(key);
    if (lease === undefined) return undefined;
    lease.isLeft = true;
    leases.delete(key);
    this.counts.leases -= 1;
    this.poolNotifications.leave(name, key);
    return lease;
  }

  private leaseOn({ rule, key }: Operation): Lease | undefined {
    return this.counters.named(counterOf(rule))?.leases.get(key);
  }

  private readonly newId = (): string => {
    this.grants += 1;
    return `${this.node}:${this.grants}`;
  };

  private straight(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): Answers | Promise<Answers> {
    this.counts.straight += 1;
    this.counts.roundTrips += 1;
    const answers = this.store.apply(action, operations.map(this.pooled), options);
    return "then" in answers ? this.timed(answers) : answers;
  }

  private async timed(answers: Promise<Answers>): Promise<Answers> {
    const sentAt = this.time.now();
    const answered = await answers;
    this.tempo.answered(this.time.now() - sentAt);
    return answered;
  }

  /** The operation with the limit of the pool, which excludes what nodes may hold. */
  private readonly pooled = (operation: Operation): Operation => {
    if (!this.counters.has(operation.rule)) return operation;
    const limit = limitOf(operation);
    const pool = this.counters.poolOf(operation.rule, limit);
    return pool.limit === limit ? operation : { ...operation, limit: pool.limit };
  };

  /** A request with several limits: leases pay for some of them, and the store decides the others. */
  private async takeTogether(operations: readonly Operation[], options: ApplyOptions | undefined): Promise<Answers> {
    const now = this.time.now();
    const paid = operations.map((operation) => {
      const lease = this.leaseFor(operation, now);
      return lease?.setAside(operation.cost, now) ? { lease, epoch: lease.units.epoch } : undefined;
    });
    const rest = operations.filter((_, i) => paid[i] === undefined);
    const giveBack = (): void => {
      paid.forEach((part, i) => {
        part?.lease.restore(operations[i].cost, part.epoch);
      });
    };
    let answers: Answers = [];
    try {
      if (rest.length > 0) answers = await this.straight("take", rest, options);
    } catch (error) {
      giveBack();
      throw error;
    }
    if (answers.some(({ allowed }) => !allowed)) giveBack();
    let next = 0;
    return operations.map((_, i) => {
      const part = paid[i];
      if (part !== undefined) return part.lease.units.answer(true, 0, this.time.now());
      next += 1;
      return answers[next - 1];
    });
  }

  private async chargeEach(operations: readonly Operation[], options: ApplyOptions | undefined): Promise<Answers> {
    if (options?.idempotencyKey !== undefined) return this.straight("charge", operations, options);
    const answers = await Promise.all(operations.map((operation) => this.charge(operation, options)));
    return answers.flat();
  }

  /** Charges an operation even if it is denied. The lease then pays what it holds, and the pool the rest. */
  private async charge(operation: Operation, options: ApplyOptions | undefined): Promise<Answers> {
    const { cost } = operation;
    const lease = this.leaseFor(operation, this.time.now());
    if (lease === undefined) return this.straight("charge", [operation], options);
    const taken = cost > lease.pool.limit.burst ? [] : await this.apply("take", [operation], options);
    if (taken.length > 0 && taken[0].allowed) return taken;
    const paid = lease.payUpTo(cost, this.time.now());
    return this.straight("charge", [{ ...operation, cost: cost - paid }], options);
  }

  /**
   * Lets the store decide. If units held here can pay one of the alternatives, the store is asked about that one without
   * charging it.
   */
  private async takeFirst(operations: readonly Operation[], options: ApplyOptions | undefined): Promise<Answers> {
    const now = this.time.now();
    // Only the store remembers idempotency keys.
    const paid =
      options?.idempotencyKey === undefined ? operations.findIndex((operation) => this.payHeld(operation, now)) : -1;
    const lease = paid < 0 ? undefined : this.leaseOn(operations[paid]);
    if (lease === undefined) return this.straight("takeFirst", operations, options);
    const { epoch } = lease.units;
    const { cost } = operations[paid];
    const asked = operations.map((operation, i) => (i === paid ? { ...operation, cost: 0 } : operation));
    let answers: Answers;
    try {
      answers = await this.straight("takeFirst", asked, options);
    } catch (error) {
      lease.restore(cost, epoch);
      throw error;
    }
    const charged = answers.findIndex(({ allowed }) => allowed);
    if (charged >= 0 && charged !== paid) {
      lease.restore(cost, epoch);
      return answers;
    }
    return answers.map((answer, i) => (i === paid ? lease.units.answer(true, 0, this.time.now()) : answer));
  }

  /** Whether units held here have paid an operation. No more are fetched: those would be missing in the store. */
  private payHeld(operation: Operation, now: number): boolean {
    const lease = this.leaseOn(operation);
    return lease !== undefined && sameLimit(lease.limit, limitOf(operation)) && lease.payHeld(operation.cost, now);
  }

  private async correct(
    action: Exclude<Action, "take" | "takeFirst" | "charge">,
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
  ): Promise<Answers> {
    if (action === "reset") this.each(operations, (lease) => lease.drop());
    const answers = await this.straight(action, operations, options);
    const now = this.time.now();
    if (action === "refund" || action === "settle" || action === "reset") {
      this.each(operations, (lease, { rule, key }) => {
        lease.emptyPool.markFilled(now);
        if (action === "reset") this.poolNotifications.reset(counterOf(rule), key);
        else this.poolNotifications.postFilled(counterOf(rule), key, now);
      });
    }
    return operations.map((operation, i) => {
      const lease = this.leaseOn(operation);
      if (lease === undefined || !sameLimit(lease.limit, limitOf(operation))) return answers[i];
      return withLease(answers[i], lease.units.view(now), action === "peek" ? operation.cost : 1);
    });
  }

  private each(operations: readonly Operation[], act: (lease: Lease, operation: Operation) => void): void {
    for (const operation of operations) {
      const lease = this.leaseOn(operation);
      if (lease !== undefined) act(lease, operation);
    }
  }

  /** Runs periodically: idle leases give back everything, others what exceeds two batches. */
  private async tend(): Promise<void> {
    const stop = new AbortController();
    this.stopTending = stop;
    const { idle, giveBackEvery } = this.settings;
    let relief = this.time.now() + giveBackEvery;
    while (this.counts.leases > 0 && !stop.signal.aborted) {
      await this.time.sleep(Math.min(idle, giveBackEvery) / 1000, stop.signal).catch(() => {});
      if (stop.signal.aborted) return;
      const now = this.time.now();
      const isRelief = now >= relief;
      if (isRelief) relief = now + giveBackEvery;
      for (const counter of this.counters.all()) {
        for (const [key, lease] of counter.leases) this.tendTo(counter, key, lease, now, isRelief);
      }
    }
    if (this.stopTending === stop) this.stopTending = undefined;
  }

  private tendTo(counter: LeasedCounter, key: string, lease: Lease, now: number, isRelief: boolean): void {
    const isIdle = now - lease.usedAt >= this.tempo.rest(this.settings.idle);
    if (isIdle && lease.isBare(now)) {
      this.letGo(counter, key);
      return;
    }
    void lease.clearDoubts();
    if (isIdle) void lease.giveBack(0, now);
    else if (isRelief) void lease.giveBack(lease.enough, now);
  }
}

function alone(answer: Answer): Answers {
  return [answer];
}

function only([answer]: Answers): Answer {
  return answer;
}

/** The store's answer plus what the lease holds. */
function withLease(answer: Answer, lease: LeaseView, cost: number): Answer {
  const remaining = answer.remaining + lease.held;
  const allowed = answer.allowed || cost <= lease.held;
  return { ...answer, allowed, remaining, retryAfter: allowed ? 0 : answer.retryAfter, lease };
}
