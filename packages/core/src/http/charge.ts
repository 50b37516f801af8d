import { requireCost } from "../limiter/check-options.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { Check } from "../limiter/requests.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";
import { failureOf } from "../stores/resilient/failure.ts";
import type { Notices } from "./notices.ts";

/** What one request was charged, and how that is put right afterwards. */
export class Charge<R extends Rules> {
  private readonly limiter: Limiter<R>;
  private readonly notices: Notices;
  private readonly entries: readonly Entry<RuleName<R>>[];
  private settled = false;

  /** `reserves` says of each check whether it is an estimate. */
  constructor(
    limiter: Limiter<R>,
    checks: readonly Check<RuleName<R>>[],
    reserves: readonly boolean[],
    notices: Notices,
  ) {
    this.limiter = limiter;
    this.notices = notices;
    this.entries = checks.map(({ rule, key, cost = 1 }, i) => ({ rule, key, cost, reserved: reserves[i] }));
  }

  /** Whether something was reserved and nobody has told the real cost. */
  get open(): boolean {
    return !this.settled && this.entries.some(({ reserved }) => reserved);
  }

  /** Puts the real cost in the place of what was reserved: the rest is given back, or what is missing taken. */
  async settle(cost: number): Promise<void> {
    requireCost(cost);
    this.settled = true;
    await this.correct(
      this.entries.filter(({ reserved }) => reserved),
      cost,
    );
  }

  /** Gives back what was reserved. */
  async release(): Promise<void> {
    await this.settle(0);
  }

  /** Gives back everything. */
  async refund(): Promise<void> {
    this.settled = true;
    await this.correct(this.entries, 0);
  }

  private async correct(entries: readonly Entry<RuleName<R>>[], cost: number): Promise<void> {
    try {
      await Promise.all(entries.map((entry) => this.change(entry, cost)));
    } catch (error) {
      if (failureOf(error) === undefined) throw error;
      this.notices.give("HG_REFUND_LOST", "a request could not be corrected", error);
    }
  }

  private async change(entry: Entry<RuleName<R>>, cost: number): Promise<void> {
    const { rule, key, cost: before } = entry;
    if (cost === before) return;
    // At once, so that a second correction builds on this one.
    entry.cost = cost;
    if (cost < before) await this.limiter.refund(rule, key, { cost: before - cost });
    else await this.limiter.penalize(rule, key, { cost: cost - before });
  }
}

interface Entry<Name extends string> {
  readonly rule: Name;
  readonly key: string;
  readonly reserved: boolean;
  cost: number;
}
