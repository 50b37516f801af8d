import type { Clock } from "../clock/clock.ts";
import { decide } from "../limiter/decide.ts";
import type { Decision } from "../limiter/decision.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { after, type MaybePromise } from "../limiter/maybe-promise.ts";
import type { Check } from "../limiter/requests.ts";
import { makeRule, type RuleName, type Rules } from "../limiter/rules.ts";
import type { Verdict } from "../limiter/verdict.ts";
import type { Notices } from "../middleware/notices.ts";
import { take } from "../middleware/run-checks.ts";
import type { Rule } from "../stores/store.ts";
import { Charge, type Taken } from "./charge.ts";
import { ReservationKeeper } from "./reservation-keeper.ts";

/** A verdict, and the charge that can be corrected. */
export interface Taking<R extends Rules> {
  readonly decided: Decision | Verdict;
  readonly charge: Charge<R>;
}

export interface ReserverOptions {
  readonly notices: Notices;
  /** How long a reservation outlives its process. */
  readonly forMs: number;
  /** The clock the program passed, if any. */
  readonly clock: Clock | undefined;
  /** The time, if the store does not provide it. */
  readonly now: () => number;
}

/** Takes quota for requests whose cost may have to be corrected afterwards. */
export class Reserver<R extends Rules> {
  private readonly limiter: Limiter<R>;
  /** For each limit, whether its cost is an estimate. */
  private readonly reserves: readonly boolean[];
  private readonly notices: Notices;
  private readonly now: () => number;
  private readonly keeper: ReservationKeeper | undefined;
  private readonly rules = new Map<RuleName<R>, Rule<RuleName<R>>>();

  constructor(limiter: Limiter<R>, reserves: readonly boolean[], { notices, forMs, clock, now }: ReserverOptions) {
    const { store } = limiter;
    this.limiter = limiter;
    this.reserves = reserves;
    this.notices = notices;
    this.now = () => store.clock?.now() ?? now();
    if (store.journal !== undefined && reserves.includes(true)) {
      this.keeper = new ReservationKeeper(store, store.journal, { forMs, notices, clock, now: this.now });
    }
  }

  take(checks: readonly Check<RuleName<R>>[]): MaybePromise<Taking<R>> {
    const { limiter, keeper, notices, now } = this;
    const taken = checks.map((check, i) => this.taken(check, this.reserves[i]));
    if (keeper !== undefined) return this.takeJournalled(taken, keeper);
    const at = now();
    return after(take(limiter, checks), (decided) => {
      return { decided, charge: new Charge(limiter, taken, at, now, notices, undefined) };
    });
  }

  private async takeJournalled(taken: readonly Taken<RuleName<R>>[], keeper: ReservationKeeper): Promise<Taking<R>> {
    const { limiter, notices, now } = this;
    const reservation = keeper.reserve(taken);
    let verdict: Verdict;
    try {
      verdict = await decide(limiter.store, "take", taken, reservation.take);
      const { decisions, allowed: admitted } = verdict;
      decisions.forEach((decision, i) => void limiter.onDecision?.(decision, { key: taken[i].key, admitted }));
    } catch (error) {
      keeper.leave(reservation);
      throw error;
    }
    // A fallback has charged nothing in the store, as far as is known.
    const isFromStore = verdict.source === "store";
    if (!isFromStore) keeper.leave(reservation);
    else if (!verdict.allowed) keeper.drop(reservation);
    const kept = isFromStore ? { reservation, keeper } : undefined;
    const decided = taken.length === 1 ? verdict.deciding : verdict;
    return { decided, charge: new Charge(limiter, taken, reservation.at, now, notices, kept) };
  }

  private taken({ rule, key, cost = 1 }: Check<RuleName<R>>, reserved: boolean): Taken<RuleName<R>> {
    return { rule: this.rule(rule), key, cost, reserved };
  }

  /** The same object while the limit is the same, so that a store can recognise it. */
  private rule(name: RuleName<R>): Rule<RuleName<R>> {
    const limit = this.limiter.limitOf(name);
    const known = this.rules.get(name);
    if (known?.limit === limit) return known;
    const rule = makeRule(name, limit);
    this.rules.set(name, rule);
    return rule;
  }
}
