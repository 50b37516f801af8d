import type { Answer, LeaseView } from "../../stores/store.ts";
import { LeaseAnswer } from "./lease-answer.ts";
import type { Counts } from "./leased-stats.ts";
import type { Granted } from "./pool-client.ts";

/**
 * The units of one key that this node holds, until when they are valid, and what the pool had left when it was last
 * asked. Times are by the local clock.
 */
export class LeasedUnits {
  held = 0;
  /** When the units held become worthless. */
  deadline = Number.NEGATIVE_INFINITY;
  epoch = 0;
  /** Units admitted while the pool was being asked, and not paid for. */
  debt = 0;
  /** What the pool had left at its last answer, and when it will be full. */
  private left: number;
  private fullAt: number;
  /**
   * How far the store's clock was ahead of the local one at the pool's last answer, to report times by the store's
   * clock.
   */
  private ahead: number;
  private spent = 0;
  private readonly burst: number;
  private readonly counts: Counts;

  /** `burst`: what a full pool has. */
  constructor(burst: number, now: number, ahead: number, counts: Counts) {
    this.burst = burst;
    this.left = burst;
    this.fullAt = now;
    this.ahead = ahead;
    this.counts = counts;
  }

  pay(cost: number): void {
    this.held -= cost;
    this.spent += cost;
    const { counts } = this;
    counts.spent += cost;
    counts.held -= cost;
  }

  /** Takes back a payment. `isValid`: whether the units may still be spent; otherwise they are lost. */
  unpay(cost: number, isValid: boolean): void {
    const { counts } = this;
    this.spent -= cost;
    counts.spent -= cost;
    if (isValid) {
      this.held += cost;
      counts.held += cost;
    } else counts.burnt += cost;
  }

  /** Notes that a request was admitted although it is not paid for. */
  lend(cost: number): void {
    this.debt += cost;
    this.counts.lent += cost;
  }

  /** Adds a grant of which `kept` units are not spent yet. Returns whether it arrived in time to be of use. */
  receive(kept: number, { amount, deadline }: Granted, now: number): boolean {
    const { counts } = this;
    if (now >= this.deadline) {
      this.expire();
      this.epoch += 1;
    }
    const owed = Math.min(this.debt, kept);
    this.debt -= owed;
    counts.granted += amount;
    counts.spent += amount - kept + owed;
    counts.lent -= owed;
    this.spent += amount - kept;
    if (now >= deadline) {
      counts.burnt += kept - owed;
      return false;
    }
    this.deadline = Math.max(this.deadline, deadline);
    this.held += kept - owed;
    counts.held += kept - owed;
    return true;
  }

  /** Removes units that are on their way back to the pool. */
  release(amount: number): void {
    this.held -= amount;
    this.counts.held -= amount;
    this.counts.returning += amount;
  }

  /** Notes whether released units arrived in the pool; otherwise they are lost. */
  released(amount: number, hasArrived: boolean): void {
    const { counts } = this;
    counts.returning -= amount;
    if (hasArrived) {
      counts.returned += amount;
      this.left += amount;
    } else counts.burnt += amount;
  }

  /** Discards expired units, and the debt that belongs to them. */
  expire(): void {
    if (this.deadline > Number.NEGATIVE_INFINITY) this.debt = 0;
    this.deadline = Number.NEGATIVE_INFINITY;
    if (this.held === 0) return;
    this.counts.burnt += this.held;
    this.counts.held -= this.held;
    this.held = 0;
  }

  /** Discards all units, and those that are set aside at the moment: they belong to a pool that was reset. */
  drop(): void {
    this.expire();
    this.epoch += 1;
  }

  /** Remembers the state of the pool. */
  learn(answer: Answer, now: number): void {
    this.left = answer.remaining;
    this.fullAt = now + answer.resetAfter;
    this.ahead = answer.time - now;
  }

  /** What the pool has left, as far as is known. */
  leftInPool(now: number): number {
    return now >= this.fullAt ? this.burst : this.left;
  }

  /** Units spent since the last call. */
  spentSince(): number {
    const { spent } = this;
    this.spent = 0;
    return spent;
  }

  answer(allowed: boolean, retryAfter: number, now: number): LeaseAnswer {
    const lasts = Math.max(0, this.deadline - now);
    const { held, left, epoch } = this;
    const resetAfter = Math.max(0, this.fullAt - now);
    return new LeaseAnswer(now + this.ahead, allowed, held, left, retryAfter, resetAfter, epoch, lasts);
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
}
