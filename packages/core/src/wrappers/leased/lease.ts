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

/** A reply comes within so many microseconds, if nothing holds it up. */
const QUICK_REPLY = 5_000;

/** What a lease needs of the store that holds it. */
export interface Surroundings {
  readonly settings: Settings;
  readonly counts: Counts;
  /** Asks the store about one request, past all leases. */
  straight(cost: number): Promise<Answer>;
  /** The pool refuses `from` units and more, until then by our clock: the others need not ask. It was so at `seenAt`. */
  tellShut(from: number, until: number, seenAt: number): void;
  /** The pool had some again at that time. */
  tellOpen(at: number): void;
  /** How far the store's clock is ahead of ours. */
  ahead(): number;
}

/**
 * What this node holds of one key's quota. It pays requests from it at once, fetches more before it runs out, and
 * lets nobody ask a pool that is known to be empty.
 */
export class Lease {
  /** The limit that it was made under, and whose calls it serves. */
  readonly limit: Limit;
  readonly pool: Pool;
  /** The other limit that the latest call came with, if it had another. */
  private otherLimit: Limit | undefined;
  /** When it was last asked, by our clock. */
  usedAt: number;
  /** Whether nobody will pay from it any more. */
  isLeft = false;
  readonly shutter = new EmptyPool();
  private held = 0;
  /** From then on what is held is worth nothing. */
  private deadline = Number.NEGATIVE_INFINITY;
  private epoch = 0;
  /** What the pool had left when it last answered, and when it will be full. */
  private left: number;
  private fullAt: number;
  /** How far the store's clock was ahead of ours when the pool last answered: by it, the times told are the store's own. */
  private ahead: number;
  /** At so much left the next batch is fetched. */
  private low = 0;
  private batch = 0;
  private spent = 0;
  /** Let in while the pool was asked, and not paid. */
  private debt = 0;
  private isAsking = false;
  /** Resolves when the last question to the pool is answered. */
  private asked: Promise<void> = Promise.resolve();
  private readonly line = new WaitingRequests();
  private readonly bank: PoolClient;
  private readonly size: BatchSize;
  private readonly around: Surroundings;

  constructor(limit: Limit, pool: Pool, bank: PoolClient, size: BatchSize, around: Surroundings) {
    this.limit = limit;
    this.pool = pool;
    this.bank = bank;
    this.size = size;
    this.around = around;
    this.usedAt = around.settings.clock.now();
    this.left = pool.limit.burst;
    this.fullAt = this.usedAt;
    this.ahead = around.ahead();
  }

  /** Whether calls with this limit are paid from it. */
  serves(limit: Limit): boolean {
    if (!sameLimit(limit, this.limit)) return false;
    this.otherLimit = undefined;
    return true;
  }

  /** Whether a limit that it does not serve comes for the second time in a row: then the key has changed its limit. */
  isReplacedBy(limit: Limit): boolean {
    if (this.otherLimit !== undefined && sameLimit(limit, this.otherLimit)) return true;
    this.otherLimit = limit;
    return false;
  }

  /** The answer to a request if it can be given here: undefined if the pool must be asked. */
  answer(cost: number, now: number): Answer | undefined {
    this.usedAt = now;
    if (now >= this.deadline) this.expire();
    if (cost <= this.held) {
      this.pay(cost);
      if (this.held <= this.low && !this.isAsking) this.prefetch(now);
      return this.told(true, 0, now);
    }
    if (this.isRefused(cost, now)) return this.denied(this.shutter.until, now);
    return this.around.settings.admitWhileAsking > 0 ? this.lend(cost, now) : undefined;
  }

  /** Asks the pool on behalf of a request. */
  wait(cost: number): Promise<Answer> {
    const answer = this.line.wait(cost);
    if (!this.isAsking) this.asked = this.ask();
    return answer;
  }

  /** Sets units aside for a request that has other limits too: whether they were there. */
  hold(cost: number, now: number): boolean {
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

  /** Takes back what was set aside in an epoch: another limit refused. */
  restore(cost: number, epoch: number): void {
    const { counts } = this.around;
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

  /** How it stands, as an answer. */
  told(allowed: boolean, retryAfter: number, now: number): LeaseAnswer {
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

  /** Whether nothing would be lost by letting go of it: neither quota nor the knowledge that there is none. */
  isBare(now: number): boolean {
    return this.held === 0 && !this.isAsking && this.bank.doubts === 0 && now >= this.shutter.until;
  }

  /** Gives back what is held beyond `keep` units, if it is worth anything. */
  async giveBack(keep: number, now: number): Promise<void> {
    if (now >= this.deadline) this.expire();
    const amount = this.held - keep;
    if (amount <= 0) return;
    const { counts } = this.around;
    this.held = keep;
    counts.held -= amount;
    counts.returning += amount;
    counts.roundTrips += 1;
    const isBack = await this.bank.giveBack(amount, this.deadline).catch(() => false);
    counts.returning -= amount;
    if (!isBack) {
      counts.burnt += amount;
      return;
    }
    counts.returned += amount;
    this.size.returned(amount);
    this.left += amount;
    const at = this.around.settings.clock.now();
    this.shutter.open(at);
    // Also where nobody is known here to have been refused: who changes to another limit hears no news of the old one.
    this.around.tellOpen(at);
  }

  /** Gives back all, also what is on its way here. */
  async end(): Promise<void> {
    const { clock } = this.around.settings;
    // What is held goes at once, before anything that is asked from now on.
    const isBack = this.giveBack(0, clock.now());
    await this.asked;
    await Promise.all([isBack, this.giveBack(0, clock.now())]);
  }

  /** More than this is of no use here. */
  get enough(): number {
    return 2 * this.batch;
  }

  /** Throws away what is held: the pool was filled by hand. */
  drop(): void {
    this.expire();
    // What is set aside just now is of the old pool, too.
    this.epoch += 1;
    this.shutter.open(this.around.settings.clock.now());
  }

  /** Finds out what became of grants that were not answered. */
  async clearDoubts(): Promise<void> {
    for (let count = this.bank.doubts; count > 0; count -= 1) {
      this.around.counts.roundTrips += 1;
      const cleared = await this.bank.clearDoubt();
      if (cleared === undefined) return;
      if (cleared.answer.allowed) this.receive(cleared.amount, cleared);
    }
  }

  private pay(cost: number): void {
    this.held -= cost;
    this.spent += cost;
    const { counts } = this.around;
    counts.spent += cost;
    counts.held -= cost;
  }

  /** Lets a request in while the pool is asked, within the bound for each window. */
  private lend(cost: number, now: number): Answer | undefined {
    const { settings, counts } = this.around;
    if (this.debt + cost > settings.admitWhileAsking) return undefined;
    this.debt += cost;
    counts.lent += cost;
    if (!this.isAsking) this.asked = this.ask();
    return this.told(true, 0, now);
  }

  /** What is held is worth nothing any more, and what was lent beside it is nobody's debt. */
  private expire(): void {
    if (this.deadline > Number.NEGATIVE_INFINITY) this.debt = 0;
    this.deadline = Number.NEGATIVE_INFINITY;
    if (this.held === 0) return;
    this.around.counts.burnt += this.held;
    this.around.counts.held -= this.held;
    this.held = 0;
  }

  private nudge(now: number): void {
    if (!this.isAsking) this.prefetch(now);
  }

  /** Fetches the next batch in the background, if one is worth having. */
  private prefetch(now: number): void {
    const amount = this.nextBatch(now);
    if (amount > 0 && !this.shutter.refuses(amount, now)) this.asked = this.ask(amount);
  }

  private nextBatch(now: number): number {
    // A pool that is full by now has all of it.
    const left = now >= this.fullAt ? this.pool.limit.burst : this.left;
    this.batch = Math.min(this.size.next(left, this.spent, now), this.pool.most - this.held);
    this.low = Math.floor(this.batch * this.around.settings.prefetchAt);
    this.spent = 0;
    return Math.max(0, this.batch);
  }

  /** Asks until nobody waits. One at a time: who comes meanwhile is asked for with the next. */
  private async ask(batch?: number): Promise<void> {
    this.isAsking = true;
    let extra = batch;
    try {
      do {
        const now = this.around.settings.clock.now();
        const waiters = this.line.leave().filter((waiter) => !this.isSettled(waiter, now));
        await this.fetch(waiters, extra ?? (waiters.length > 0 ? this.nextBatch(now) : 0));
        extra = undefined;
      } while (!this.line.isEmpty);
    } finally {
      this.isAsking = false;
    }
  }

  /** Gets what these need, and a batch beside it. Whom the pool has not enough for is denied. */
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
      waiting = await this.refused(waiting, amount, granted);
      const spare = Math.max(0, Math.floor(granted.answer.remaining) - costOf(waiting));
      debt = Math.min(this.debt, spare);
      extra = Math.min(extra, this.size.refused(spare - debt));
      // What the pool would not pay stays owed for this window, and nothing more is lent in it.
      if (waiting.length === 0) return;
    }
  }

  private async take(amount: number): Promise<Granted> {
    this.around.counts.roundTrips += 1;
    return this.bank.take(amount);
  }

  /** Who is asked for again now that the pool has refused; who else can be answered is. */
  private async refused(waiting: readonly Waiter[], amount: number, refusal: Granted): Promise<readonly Waiter[]> {
    const { clock } = this.around.settings;
    const { answer } = refusal;
    this.learn(answer);
    const left = Math.floor(answer.remaining);
    const [first, ...others] = waiting;
    // It has got some since it was asked.
    if (this.shutter.isOpenedSince(refusal.sentAt)) return waiting;
    if (first === undefined) {
      if (left < 1) this.shutAfter(amount, refusal);
      return [];
    }
    if (left >= first.cost && amount > first.cost) return this.line.firstOf(waiting, left);
    // What is missing may have been granted to us already, by a reply that was lost.
    await this.clearDoubts();
    if (first.cost <= this.held) {
      this.line.putBack(waiting);
      return [];
    }
    // Alone: a bucket says how long to wait for what was asked, and this one is told its own wait.
    const isAlone = amount === first.cost;
    if (left + this.held >= first.cost && this.held > 0) {
      // Together it is enough: what is held goes back, so that the request can be paid at one place.
      await this.giveBack(0, clock.now());
    } else if (this.pool.isWindow || isAlone) {
      first.resolve(this.denied(this.shutAfter(amount, refusal), clock.now()));
      this.line.putBack(others);
      return [];
    }
    this.line.putBack(others);
    return [first];
  }

  /** Whether one that waits could be answered by what has come to be held or known meanwhile. */
  private isSettled(waiter: Waiter, now: number): boolean {
    if (now < this.deadline && waiter.cost <= this.held) {
      this.pay(waiter.cost);
      waiter.resolve(this.told(true, 0, now));
      return true;
    }
    if (!this.isRefused(waiter.cost, now)) return false;
    waiter.resolve(this.denied(this.shutter.until, now));
    return true;
  }

  private denied(until: number, now: number): Answer {
    this.around.counts.denied += 1;
    return this.told(false, Math.max(0, until - now), now);
  }

  private isRefused(cost: number, now: number): boolean {
    return this.shutter.refuses(cost - this.held, now);
  }

  /** Lets nobody ask in vain after this; answers until when. */
  private shutAfter(amount: number, { answer, sentAt }: Granted): number {
    // A window gives no more until it ends; a bucket fills, and then has what it was asked for.
    const from = this.pool.isWindow ? Math.floor(answer.remaining) + 1 : amount;
    // From when the store said so. A reply may come late, and then nobody would ask a pool that is full again.
    const said = Math.min(this.around.settings.clock.now(), sentAt + QUICK_REPLY);
    const until = said + answer.retryAfter;
    if (Number.isFinite(until) && this.shutter.shut(from, until, sentAt)) this.around.tellShut(from, until, sentAt);
    return until;
  }

  private learn(answer: Answer): void {
    const now = this.around.settings.clock.now();
    this.left = answer.remaining;
    this.fullAt = now + answer.resetAfter;
    this.ahead = answer.time - now;
  }

  /** `kept`: what is not spent already. */
  private receive(kept: number, { amount, deadline }: Granted): void {
    const { counts, settings } = this.around;
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
    // It came too late to be worth anything.
    if (now >= deadline) {
      counts.burnt += kept - owed;
      return;
    }
    this.deadline = Math.max(this.deadline, deadline);
    this.held += kept - owed;
    counts.held += kept - owed;
    if (this.held > 0) this.shutter.forget();
  }

  /** Charged by the store for the request itself, whenever its reply came. */
  private paidByGrant(answer: Answer): Answer {
    return { ...answer, source: "store", remaining: answer.remaining + this.held };
  }

  /** The pool is gone: all who wait are answered as the rule says for that. */
  private goStraight(error: unknown): void {
    for (const { cost, resolve, reject } of this.line.leave()) {
      if (error instanceof StoreError) this.around.straight(cost).then(resolve, reject);
      else reject(error);
    }
  }
}
