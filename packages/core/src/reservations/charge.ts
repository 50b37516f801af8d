import { requireCost } from "../limiter/check-options.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import type { Notices } from "../middleware/notices.ts";
import type { Rule } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import { chargedUntil } from "./charged-until.ts";
import type { Reservation } from "./reservation.ts";
import type { ReservationKeeper } from "./reservation-keeper.ts";

/** What one request took from one limit. */
export interface Taken<Name extends string> {
  readonly rule: Rule<Name>;
  readonly key: string;
  readonly cost: number;
  /** Whether the cost is an estimate. */
  readonly reserved: boolean;
}

/** A journalled reservation, and its keeper. */
export interface KeptReservation {
  readonly reservation: Reservation;
  readonly keeper: ReservationKeeper;
}

/** What one request was charged, and how to correct it afterwards. */
export class Charge<R extends Rules> {
  private readonly limiter: Limiter<R>;
  private readonly notices: Notices;
  private readonly entries: readonly Entry<RuleName<R>>[];
  private readonly at: number;
  private readonly now: () => number;
  private kept: KeptReservation | undefined;
  private settled = false;

  /** `at` is the time of the charge by the store's clock, which `now` returns. */
  constructor(
    limiter: Limiter<R>,
    taken: readonly Taken<RuleName<R>>[],
    at: number,
    now: () => number,
    notices: Notices,
    kept: KeptReservation | undefined,
  ) {
    this.limiter = limiter;
    this.notices = notices;
    this.at = at;
    this.now = now;
    this.kept = kept;
    this.entries = taken.map((each) => ({ ...each }));
  }

  /** Whether something was reserved and has not been settled. */
  get open(): boolean {
    return !this.settled && this.entries.some(({ reserved }) => reserved);
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
    const { kept } = this;
    const changes: Promise<void>[] = [];
    const ends: (() => Promise<void>)[] = [];
    // Set before anything is awaited, so that a second correction sees it.
    this.settled = true;
    this.kept = undefined;
    for (const [i, entry] of this.entries.entries()) {
      const before = entry.cost;
      entry.cost = costOf(entry);
      const { cost, reserved } = entry;
      if (kept !== undefined && reserved) ends.push(() => kept.reservation.end(i, cost));
      else changes.push(this.change(entry, before));
    }
    if (kept !== undefined) changes.push(kept.keeper.finish(kept.reservation, () => inTurn(ends)));
    try {
      await Promise.all(changes);
    } catch (error) {
      if (failureOf(error) === undefined) throw error;
      this.notices.give("HG_REFUND_LOST", "a charge could not be corrected", error);
    }
  }

  private async change({ rule: { name, limit }, key, cost }: Entry<RuleName<R>>, before: number): Promise<void> {
    const { limiter } = this;
    if (cost > before) await limiter.penalize(name, key, { cost: cost - before });
    if (cost >= before) return;
    // A charge that has expired, or was made by another algorithm, must not be refunded from what others have used
    // since.
    const counts = this.now() < chargedUntil(limit, this.at) && limiter.limitOf(name).algorithm === limit.algorithm;
    if (counts) await limiter.refund(name, key, { cost: before - cost });
  }
}

async function inTurn(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  for (const task of tasks) await task();
}

interface Entry<Name extends string> extends Taken<Name> {
  cost: number;
}
