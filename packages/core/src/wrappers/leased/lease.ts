import { StoreError } from "../../errors.ts";
import { type Limit, sameLimit } from "../../limits/limit.ts";
import type { Answer, LeaseView } from "../../stores/store.ts";
import type { BatchSize } from "./batch-size.ts";
import { EmptyPool } from "./empty-pool.ts";
import { LeaseAnswer } from "./lease-answer.ts";
import type { Settings } from "./leased-options.ts";
import type { Counts } from "./leased-stats.ts";
import type { Pool } from "./pool.ts";
import type { Granted, PoolClient } from "./pool-client.ts";
import { costOf, type Waiter, WaitingRequests } from "./waiting-requests.ts";

/** A normal reply arrives within this time, in microseconds. */
const QUICK_REPLY = 5_000;

/** What a lease needs from its store. */
export interface LeaseHost {
  readonly settings: Settings;
  readonly counts: Counts;
  /** Sends one request to the store, bypassing all leases. */
  straight(cost: number): Promise<Answer>;
  /** Tells the other nodes that, at `seenAt`, the pool denied `from` units or more until a time by the local clock. */
  notifyEmpty(from: number, until: number, seenAt: number): void;
  /** Tells the other nodes that the pool had units again at that time. */
  notifyFilled(at: number): void;
  /** How far the store's clock is ahead of the local one. */
  ahead(): number;
}

/**
 * The part of one key's quota that this node holds. Requests are charged to it immediately, more is fetched before it
 * runs out, and a pool that is known to be empty is not asked.
 */
export class Lease {
  /** The limit the lease was made under. It serves only calls with this limit. */
  readonly limit: Limit;
  readonly pool: Pool;
  /** The limit of the latest call, if it differs. */
  private otherLimit: Limit | undefined;
  /** When it was last used, by the local clock. */
  usedAt: number;
  /** Whether the lease is no longer in use. */
  isLeft = false;
  readonly emptyPool = new EmptyPool();
  private held = 0;
  /** When the units held become worthless. */
  private deadline = Number.NEGATIVE_INFINITY;
  private epoch = 0;
  /** What the pool had left at its last answer, and when it will be full. */
  private left: number;
  private fullAt: number;
  /**
   * How far the store's clock was ahead of the local one at the pool's last answer, to report times by the store's
   * clock.
   */
  private ahead: number;
  /** The next batch is fetched at this many units. */
  private low = 0;
  private batch = 0;
  private spent = 0;
  /** Units admitted while the pool was being asked, and not paid for. */
  private debt = 0;
  private isAsking = false;
  /** Resolves when the latest call to the pool has been answered. */
  private latestCall: Promise<void> = Promise.resolve();
  private readonly line = new WaitingRequests();
  private readonly client: PoolClient;
  private readonly size: BatchSize;
  private readonly host: LeaseHost;

  constructor(limit: Limit, pool: Pool, client: PoolClient, size: BatchSize, host: LeaseHost) {
    this.limit = limit;
    this.pool = pool;
    this.client = client;
    this.size = size;
    this.host = host;
    this.usedAt = host.settings.clock.now();
    this.left = pool.limit.burst;
    this.fullAt = this.usedAt;
    this.ahead = host.ahead();
  }

  /** Whether calls with this limit are charged to the lease. */
  serves(limit: Limit): boolean {
    if (!sameLimit(limit, this.limit)) return false;
    this.otherLimit = undefined;
    return true;
  }

  /** Whether a different limit comes for the second time in a row: the limit of the key has then changed. */
  isReplacedBy(limit: Limit): boolean {
    if (this.otherLimit !== undefined && sameLimit(limit, this.otherLimit)) return true;
    this.otherLimit = limit;
    return false;
  }

  /** Answers a request from the lease; undefined if the pool has to be asked. */
  answer(cost: number, now: number): Answer | undefined {
    this.usedAt = now;
    if (now >= this.deadline) this.expire();
    if (cost <= this.held) {
      this.pay(cost);
      if (this.held <= this.low && !this.isAsking) this.prefetch(now);
      return this.stateAnswer(true, 0, now);
    }
    if (this.isDeniedByPool(cost, now)) return this.denied(this.emptyPool.until, now);
    return this.host.settings.admitWhileAsking > 0 ? this.lend(cost, now) : undefined;
  }

  /** Asks the pool on behalf of a request. */
  wait(cost: number): Promise<Answer> {
    const answer = this.line.wait(cost);
    if (!this.isAsking) this.latestCall = this.ask();
    return answer;
  }

  /** Sets units aside for a request that has other limits too. Returns whether there were enough. */
  setAside(cost: number, now: number): boolean {
    this.usedAt = now;
    if (now >= this.deadline) this.expire();
    if (cost > this.held) {
      this.nudge(now);
      return false;
    }
    this.pay(cost);
    if (this.held <= this.low) this.nudge(now);
    return true;
  }

  /** Pays as much of a cost as is held. Returns how much. */
  payUpTo(cost: number, now: number): number {
    if (now >= this.deadline) this.expire();
    const paid = Math.min(cost, this.held);
    this.pay(paid);
    return paid;
  }

  /** Returns units that were set aside in an epoch, because another limit denied the request. */
  restore(cost: number, epoch: number): void {
    const { counts } = this.host;
    this.spent -= cost;
    counts.spent -= cost;
    if (epoch !== this.epoch || this.isLeft) {
      counts.burnt += cost;
      return;
    }
    this.held += cost;
    counts.held += cost;
  }

  get currentEpoch(): number {
    return this.epoch;
  }

  /** The state of the lease as an answer. */
  stateAnswer(allowed: boolean, retryAfter: number, now: number): LeaseAnswer {
    const lasts = Math.max(0, this.deadline - now);
    const { held, left, epoch } = this;
    return new LeaseAnswer(
      now + this.ahead,
      allowed,
      held,
      left,
      retryAfter,
      Math.max(0, this.fullAt - now),
      epoch,
      lasts,
    );
  }

  view(now: number): LeaseView {
    const isGood = now < this.deadline;
    return {
      held: isGood ? this.held : 0,
      pool: this.left,
      epoch: this.epoch,
      deadlineMs: isGood ? (this.deadline - now) / 1000 : 0,
    };
  }

  /** Whether the lease can be dropped without losing quota or the knowledge that there is none. */
  isBare(now: number): boolean {
    return this.held === 0 && !this.isAsking && this.client.doubts === 0 && now >= this.emptyPool.until;
  }

  /** Gives back what is held beyond `keep` units, unless it is worthless. */
  async giveBack(keep: number, now: number): Promise<void> {
    if (now >= this.deadline) this.expire();
    const amount = this.held - keep;
    if (amount <= 0) return;
    const { counts } = this.host;
    this.held = keep;
    counts.held -= amount;
    counts.returning += amount;
    counts.roundTrips += 1;
    const isBack = await this.client.giveBack(amount, this.deadline).catch(() => false);
    counts.returning -= amount;
    if (!isBack) {
      counts.burnt += amount;
      return;
    }
    counts.returned += amount;
    this.size.returned(amount);
    this.left += amount;
    const at = this.host.settings.clock.now();
    this.emptyPool.markFilled(at);
    // Even if no denial is known here: after a change of the limit, notifications about the old one are not received.
    this.host.notifyFilled(at);
  }

  /** Gives back everything, including what is still in flight. */
  async end(): Promise<void> {
    const { clock } = this.host.settings;
    // What is held goes first, before any later request to the pool.
    const isBack = this.giveBack(0, clock.now());
    await this.latestCall;
    await Promise.all([isBack, this.giveBack(0, clock.now())]);
  }

  /** Units beyond this are of no use here. */
  get enough(): number {
    return 2 * this.batch;
  }

  /** Discards what is held, because the pool was reset. */
  drop(): void {
    this.expire();
    // Units set aside at the moment belong to the old pool as well.
    this.epoch += 1;
    this.emptyPool.markFilled(this.host.settings.clock.now());
  }

  /** Finds out what became of grants without a reply. */
  async clearDoubts(): Promise<void> {
    for (let count = this.client.doubts; count > 0; count -= 1) {
      this.host.counts.roundTrips += 1;
      const cleared = await this.client.clearDoubt();
      if (cleared === undefined) return;
      if (cleared.answer.allowed) this.receive(cleared.amount, cleared);
    }
  }

  private pay(cost: number): void {
    this.held -= cost;
    this.spent += cost;
    const { counts } = this.host;
    counts.spent += cost;
    counts.held -= cost;
  }

  /** Admits a request while the pool is being asked, up to the bound per window. */
  private lend(cost: number, now: number): Answer | undefined {
    const { settings, counts } = this.host;
    if (this.debt + cost > settings.admitWhileAsking) return undefined;
    this.debt += cost;
    counts.lent += cost;
    if (!this.isAsking) this.latestCall = this.ask();
    return this.stateAnswer(true, 0, now);
  }

  /** Discards expired units, and the debt that belongs to them. */
  private expire(): void {
    if (this.deadline > Number.NEGATIVE_INFINITY) this.debt = 0;
    this.deadline = Number.NEGATIVE_INFINITY;
    if (this.held === 0) return;
    this.host.counts.burnt += this.held;
    this.host.counts.held -= this.held;
    this.held = 0;
  }

  private nudge(now: number): void {
    if (!this.isAsking) this.prefetch(now);
  }

  /** Fetches the next batch in the background if it is worthwhile. */
  private prefetch(now: number): void {
    const amount = this.nextBatch(now);
    if (amount > 0 && !this.emptyPool.denies(amount, now)) this.latestCall = this.ask(amount);
  }

  private nextBatch(now: number): number {
    // After `fullAt`, the pool has the full quota again.
    const left = now >= this.fullAt ? this.pool.limit.burst : this.left;
    this.batch = Math.min(this.size.next(left, this.spent, now), this.pool.most - this.held);
    this.low = Math.floor(this.batch * this.host.settings.prefetchAt);
    this.spent = 0;
    return Math.max(0, this.batch);
  }

  /**
   * Asks the pool until no request is waiting. One call at a time; requests that arrive meanwhile go into the next one.
   */
  private async ask(batch?: number): Promise<void> {
    this.isAsking = true;
    let extra = batch;
    try {
      do {
        const now = this.host.settings.clock.now();
        const waiters = this.line.leave().filter((waiter) => !this.isSettled(waiter, now));
        await this.fetch(waiters, extra ?? (waiters.length > 0 ? this.nextBatch(now) : 0));
        extra = undefined;
      } while (!this.line.isEmpty);
    } finally {
      this.isAsking = false;
    }
  }

  /** Fetches what the waiting requests need, plus a batch. Requests that the pool cannot cover are denied. */
  private async fetch(waiters: readonly Waiter[], batch: number): Promise<void> {
    const { burst } = this.pool.limit;
    let waiting = this.line.firstOf(waiters, burst);
    let extra = batch;
    let { debt } = this;
    while (waiting.length > 0 || extra > 0 || debt > 0) {
      const need = costOf(waiting);
      const amount = Math.min(need + extra + debt, burst);
      let granted: Granted;
      try {
        granted = await this.take(amount);
      } catch (error) {
        this.line.putBack(waiting);
        this.goStraight(error);
        return;
      }
      if (granted.answer.allowed) {
        for (const { resolve } of waiting) resolve(this.paidByGrant(granted.answer));
        this.receive(amount - need, granted);
        this.learn(granted.answer);
        this.size.granted(amount, granted.answer.remaining);
        void this.clearDoubts();
        return;
      }
      waiting = await this.afterDenial(waiting, amount, granted);
      const spare = Math.max(0, Math.floor(granted.answer.remaining) - costOf(waiting));
      debt = Math.min(this.debt, spare);
      extra = Math.min(extra, this.size.afterDenial(spare - debt));
      // Debt that the pool did not cover stays for this window, and nothing more is lent in it.
      if (waiting.length === 0) return;
    }
  }

  private async take(amount: number): Promise<Granted> {
    this.host.counts.roundTrips += 1;
    return this.client.take(amount);
  }

  /** Handles a denial by the pool: answers the requests it can, and returns those to ask for again. */
  private async afterDenial(waiting: readonly Waiter[], amount: number, denial: Granted): Promise<readonly Waiter[]> {
    const { clock } = this.host.settings;
    const { answer } = denial;
    this.learn(answer);
    const left = Math.floor(answer.remaining);
    const [first, ...others] = waiting;
    // The pool has received units since it was asked.
    if (this.emptyPool.isFilledSince(denial.sentAt)) return waiting;
    if (first === undefined) {
      if (left < 1) this.markEmptyAfter(amount, denial);
      return [];
    }
    if (left >= first.cost && amount > first.cost) return this.line.firstOf(waiting, left);
    // The missing units may already have been granted in a reply that was lost.
    await this.clearDoubts();
    if (first.cost <= this.held) {
      this.line.putBack(waiting);
      return [];
    }
    // Alone, because a bucket reports the wait for the amount requested, and each request needs its own.
    const isAlone = amount === first.cost;
    if (left + this.held >= first.cost && this.held > 0) {
      // Lease and pool together have enough: give the lease back, so that the pool can pay the whole request.
      await this.giveBack(0, clock.now());
    } else if (this.pool.isWindow || isAlone) {
      first.resolve(this.denied(this.markEmptyAfter(amount, denial), clock.now()));
      this.line.putBack(others);
      return [];
    }
    this.line.putBack(others);
    return [first];
  }

  /** Whether a waiting request can be answered by what has become known meanwhile. */
  private isSettled(waiter: Waiter, now: number): boolean {
    if (now < this.deadline && waiter.cost <= this.held) {
      this.pay(waiter.cost);
      waiter.resolve(this.stateAnswer(true, 0, now));
      return true;
    }
    if (!this.isDeniedByPool(waiter.cost, now)) return false;
    waiter.resolve(this.denied(this.emptyPool.until, now));
    return true;
  }

  private denied(until: number, now: number): Answer {
    this.host.counts.denied += 1;
    return this.stateAnswer(false, Math.max(0, until - now), now);
  }

  private isDeniedByPool(cost: number, now: number): boolean {
    return this.emptyPool.denies(cost - this.held, now);
  }

  /** Remembers that the pool is empty. Returns until when. */
  private markEmptyAfter(amount: number, { answer, sentAt }: Granted): number {
    // A window grants nothing more until it ends; a bucket refills, and then has what was requested.
    const from = this.pool.isWindow ? Math.floor(answer.remaining) + 1 : amount;
    // Counted from the store's answer: after a late reply, a pool that is full again would not be asked.
    const said = Math.min(this.host.settings.clock.now(), sentAt + QUICK_REPLY);
    const until = said + answer.retryAfter;
    if (Number.isFinite(until) && this.emptyPool.markEmpty(from, until, sentAt))
      this.host.notifyEmpty(from, until, sentAt);
    return until;
  }

  private learn(answer: Answer): void {
    const now = this.host.settings.clock.now();
    this.left = answer.remaining;
    this.fullAt = now + answer.resetAfter;
    this.ahead = answer.time - now;
  }

  /** `kept`: units that are not spent yet. */
  private receive(kept: number, { amount, deadline }: Granted): void {
    const { counts, settings } = this.host;
    const now = settings.clock.now();
    if (now >= this.deadline) {
      this.expire();
      this.epoch += 1;
      this.size.renewed();
    }
    const owed = Math.min(this.debt, kept);
    this.debt -= owed;
    counts.granted += amount;
    counts.spent += amount - kept + owed;
    counts.lent -= owed;
    this.spent += amount - kept;
    // It arrived too late to be of use.
    if (now >= deadline) {
      counts.burnt += kept - owed;
      return;
    }
    this.deadline = Math.max(this.deadline, deadline);
    this.held += kept - owed;
    counts.held += kept - owed;
    if (this.held > 0) this.emptyPool.forget();
  }

  /** Charged by the store for the request itself, however late its reply arrived. */
  private paidByGrant(answer: Answer): Answer {
    return { ...answer, source: "store", remaining: answer.remaining + this.held };
  }

  /** The pool is unreachable: all waiting requests go straight to the store, where the rule's policy applies. */
  private goStraight(error: unknown): void {
    for (const { cost, resolve, reject } of this.line.leave()) {
      if (error instanceof StoreError) this.host.straight(cost).then(resolve, reject);
      else reject(error);
    }
  }
}
