import { StoreError } from "../../errors.ts";
import { type Limit, sameLimit } from "../../limits/limit.ts";
import type { Answer } from "../../stores/store.ts";
import type { BatchSize } from "./batch-size.ts";
import { EmptyPool } from "./empty-pool.ts";
import type { Settings } from "./leased-options.ts";
import type { Counts } from "./leased-stats.ts";
import { LeasedUnits } from "./leased-units.ts";
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
  readonly units: LeasedUnits;
  /** The next batch is fetched at this many units. */
  private low = 0;
  private batch = 0;
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
    this.units = new LeasedUnits(pool.limit.burst, this.usedAt, host.ahead(), host.counts);
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
    const { units } = this;
    this.usedAt = now;
    if (now >= units.deadline) units.expire();
    if (cost <= units.held) {
      units.pay(cost);
      if (units.held <= this.low && !this.isAsking) this.prefetch(now);
      return units.answer(true, 0, now);
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
    const isPaid = this.payHeld(cost, now);
    if (!isPaid || this.units.held <= this.low) this.nudge(now);
    return isPaid;
  }

  /** The same without fetching more. */
  payHeld(cost: number, now: number): boolean {
    const { units } = this;
    this.usedAt = now;
    if (now >= units.deadline) units.expire();
    if (cost > units.held) return false;
    units.pay(cost);
    return true;
  }

  /** Pays as much of a cost as is held. Returns how much. */
  payUpTo(cost: number, now: number): number {
    const { units } = this;
    if (now >= units.deadline) units.expire();
    const paid = Math.min(cost, units.held);
    units.pay(paid);
    return paid;
  }

  /** Returns units that were set aside in an epoch, because another limit denied the request. */
  restore(cost: number, epoch: number): void {
    this.units.unpay(cost, epoch === this.units.epoch && !this.isLeft);
  }

  /** Whether the lease can be dropped without losing quota or the knowledge that there is none. */
  isBare(now: number): boolean {
    return this.units.held === 0 && !this.isAsking && this.client.doubts === 0 && now >= this.emptyPool.until;
  }

  /** Gives back all units but `keep` of them, unless they have expired. */
  async giveBack(keep: number, now: number, isClosing = false): Promise<void> {
    const { units } = this;
    if (now >= units.deadline) units.expire();
    const amount = units.held - keep;
    if (amount <= 0) return;
    units.release(amount);
    this.host.counts.roundTrips += 1;
    const isBack = await this.client.giveBack(amount, units.deadline, isClosing).catch(() => false);
    units.released(amount, isBack);
    if (!isBack) return;
    this.size.returned(amount);
    const at = this.host.settings.clock.now();
    this.emptyPool.markFilled(at);
    // Even if no denial is known here: after a change of the limit, notifications about the old one are not received.
    this.host.notifyFilled(at);
  }

  /** Gives back everything, including what is still in flight. */
  async end(): Promise<void> {
    const { clock } = this.host.settings;
    // Units held now go first, before any later request to the pool.
    const isBack = this.giveBack(0, clock.now(), true);
    await this.latestCall;
    await Promise.all([isBack, this.giveBack(0, clock.now(), true)]);
  }

  /** Units beyond this are of no use here. */
  get enough(): number {
    return 2 * this.batch;
  }

  /** Discards all units, because the pool was reset. */
  drop(): void {
    this.units.drop();
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

  /** Admits a request while the pool is being asked, up to the bound per window. */
  private lend(cost: number, now: number): Answer | undefined {
    if (this.units.debt + cost > this.host.settings.admitWhileAsking) return undefined;
    this.units.lend(cost);
    if (!this.isAsking) this.latestCall = this.ask();
    return this.units.answer(true, 0, now);
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
    const { units } = this;
    const wanted = this.size.next(units.leftInPool(now), units.spentSince(), now);
    this.batch = Math.min(wanted, this.pool.most - units.held);
    this.low = Math.floor(this.batch * this.host.settings.prefetchAt);
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
    let { debt } = this.units;
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
        this.units.learn(granted.answer, this.host.settings.clock.now());
        this.size.granted(amount, granted.answer.remaining);
        void this.clearDoubts();
        return;
      }
      waiting = await this.afterDenial(waiting, amount, granted);
      const spare = Math.max(0, Math.floor(granted.answer.remaining) - costOf(waiting));
      debt = Math.min(this.units.debt, spare);
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
    this.units.learn(answer, clock.now());
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
    if (first.cost <= this.units.held) {
      this.line.putBack(waiting);
      return [];
    }
    // Alone, because a bucket reports the wait for the amount requested, and each request needs its own.
    const isAlone = amount === first.cost;
    if (left + this.units.held >= first.cost && this.units.held > 0) {
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
    if (now < this.units.deadline && waiter.cost <= this.units.held) {
      this.units.pay(waiter.cost);
      waiter.resolve(this.units.answer(true, 0, now));
      return true;
    }
    if (!this.isDeniedByPool(waiter.cost, now)) return false;
    waiter.resolve(this.denied(this.emptyPool.until, now));
    return true;
  }

  private denied(until: number, now: number): Answer {
    this.host.counts.denied += 1;
    return this.units.answer(false, Math.max(0, until - now), now);
  }

  private isDeniedByPool(cost: number, now: number): boolean {
    return this.emptyPool.denies(cost - this.units.held, now);
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

  /** `kept`: units that are not spent yet. */
  private receive(kept: number, granted: Granted): void {
    const { units } = this;
    const now = this.host.settings.clock.now();
    if (now >= units.deadline) this.size.renewed();
    if (units.receive(kept, granted, now) && units.held > 0) this.emptyPool.forget();
  }

  /** Charged by the store for the request itself, however late its reply arrived. */
  private paidByGrant(answer: Answer): Answer {
    return { ...answer, source: "store", remaining: answer.remaining + this.units.held };
  }

  /** The pool is unreachable: all waiting requests go straight to the store, where the rule's policy applies. */
  private goStraight(error: unknown): void {
    for (const { cost, resolve, reject } of this.line.leave()) {
      if (error instanceof StoreError) this.host.straight(cost).then(resolve, reject);
      else reject(error);
    }
  }
}
