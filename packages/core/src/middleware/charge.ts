import { HeadgateError } from "../errors.ts";
import { requireCost } from "../limiter/check-options.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import type { Limit } from "../limits/limit.ts";
import { chargedUntil } from "../reservations/charged-until.ts";
import type { Reservation } from "../reservations/reservation.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import type { Notices } from "./notices.ts";

/** What one request took from one limit. */
export interface Taken<Name extends string> {
  readonly rule: Name;
  readonly limit: Limit;
  readonly key: string;
  readonly cost: number;
  /** Whether the cost is an estimate. */
  readonly reserved: boolean;
}

/** What one request has reserved. */
export interface RequestReservations<Name extends string> {
  /** Until the costs are settled. */
  readonly costs?: Reservation<Name> | undefined;
  /** Until the request has ended. */
  readonly slots?: Reservation<Name> | undefined;
}

/** What one request was charged, and how to correct it afterwards. */
export class Charge<R extends Rules> {
  private readonly limiter: Limiter<R>;
  private readonly notices: Notices;
  private readonly entries: readonly Entry<RuleName<R>>[];
  private readonly at: number;
  private readonly now: () => number;
  private readonly reservation: Reservation<RuleName<R>> | undefined;
  private readonly slots: Reservation<RuleName<R>> | undefined;
  private settled = false;

  /** `at` is the time of the charge by the store's clock, which `now` returns. */
  constructor(
    limiter: Limiter<R>,
    taken: readonly Taken<RuleName<R>>[],
    at: number,
    now: () => number,
    notices: Notices,
    { costs, slots }: RequestReservations<RuleName<R>> = {},
  ) {
    this.limiter = limiter;
    this.notices = notices;
    this.at = at;
    this.now = now;
    this.reservation = costs;
    this.slots = slots;
    this.entries = taken.map((each) => ({ ...each }));
  }

  /** Whether something was reserved and has not been settled. */
  get open(): boolean {
    return !this.settled && this.entries.some(({ reserved }) => reserved);
  }

  /** Returns the slots. If the store fails, they are returned when it is back. */
  async releaseSlots(): Promise<void> {
    await this.slots?.release();
  }

  /** Replaces the reserved cost by the actual one: refunds the difference or charges more. */
  async settle(cost: number): Promise<void> {
    requireCost(cost);
    await this.correct(({ reserved, cost: before }) => (reserved ? cost : before));
  }

  /** Keeps the reserved cost. */
  async keep(): Promise<void> {
    await this.correct(({ cost }) => cost);
  }

  /** Refunds the reserved cost. */
  async release(): Promise<void> {
    await this.settle(0);
  }

  /** Refunds everything. */
  async refund(): Promise<void> {
    await this.correct(() => 0);
  }

  private async correct(costOf: (entry: Entry<RuleName<R>>) => number): Promise<void> {
    // Set before anything is awaited, so that a second correction sees it.
    const isFirst = !this.settled;
    this.settled = true;
    const before = this.entries.map((entry) => entry.cost);
    for (const entry of this.entries) entry.cost = costOf(entry);
    try {
      if (isFirst && this.reservation !== undefined) await this.settleReservation(this.reservation);
      else await Promise.all(this.entries.map((entry, i) => this.change(entry, before[i])));
    } catch (error) {
      if (failureOf(error) === undefined) throw error;
      // A reservation is settled when the store is back.
      if (isFirst && this.reservation !== undefined) return;
      this.notices.give("HG_REFUND_LOST", "a charge could not be corrected", error);
    }
  }

  private async settleReservation(reservation: Reservation<RuleName<R>>): Promise<void> {
    const costs = Object.fromEntries(this.entries.map(({ rule, cost }) => [rule, cost]));
    try {
      await reservation.settle(costs as Record<RuleName<R>, number>);
    } catch (error) {
      // It was released because this process was frozen; the costs were charged again.
      if (!(error instanceof HeadgateError && error.code === "HG_RESERVATION_LOST")) throw error;
    }
  }

  private async change({ rule, limit, key, cost }: Entry<RuleName<R>>, before: number): Promise<void> {
    const { limiter } = this;
    if (cost > before) await limiter.penalize(rule, key, { cost: cost - before });
    if (cost >= before) return;
    // A charge that has expired, or was made by another algorithm, must not be refunded from what others have used
    // since.
    const counts = this.now() < chargedUntil(limit, this.at) && limiter.limitOf(rule).algorithm === limit.algorithm;
    if (counts) await limiter.refund(rule, key, { cost: before - cost });
  }
}

interface Entry<Name extends string> extends Taken<Name> {
  cost: number;
}
