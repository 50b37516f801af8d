import type { Clock } from "../clock/clock.ts";
import type { Decision } from "../limiter/decision.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { after, type MaybePromise } from "../limiter/maybe-promise.ts";
import type { Check } from "../limiter/requests.ts";
import { makeRule, type RuleName, type Rules } from "../limiter/rules.ts";
import type { Verdict } from "../limiter/verdict.ts";
import { type Reservations, reservationsOf } from "../reservations/reservations.ts";
import type { Rule } from "../stores/store.ts";
import { Charge, type Taken } from "./charge.ts";
import type { Notices } from "./notices.ts";
import { take } from "./run-checks.ts";

/** A verdict, and the charge that can be corrected. */
export interface Taking<R extends Rules> {
  readonly decided: Decision | Verdict;
  readonly charge: Charge<R>;
}

export interface ChargingOptions {
  readonly notices: Notices;
  /** How long a reservation outlives its process. */
  readonly forMs: number;
  /** The clock the program passed, if any. */
  readonly clock: Clock | undefined;
  /** The time, if the store does not provide it. */
  readonly now: () => number;
}

/** What a limit of the middleware counts. */
export interface Charged {
  /** Whether its cost is an estimate. */
  readonly reserves: boolean;
  /** Whether a request has slots of it while it runs. */
  readonly slots: boolean;
}

/** Takes quota for requests whose cost may have to be corrected afterwards. */
export class Charging<R extends Rules> {
  private readonly limiter: Limiter<R>;
  private readonly limits: readonly Charged[];
  private readonly options: ChargingOptions;
  private readonly now: () => number;
  private readonly reservations: Reservations | undefined;
  private readonly rules = new Map<RuleName<R>, Rule<RuleName<R>>>();

  constructor(limiter: Limiter<R>, limits: readonly Charged[], options: ChargingOptions) {
    const { store } = limiter;
    const { clock, notices, now } = options;
    this.limiter = limiter;
    this.limits = limits;
    this.options = options;
    this.now = () => store.clock?.now() ?? now();
    if (limits.some(({ reserves, slots }) => reserves || slots))
      this.reservations = reservationsOf(store, clock, notices);
  }

  take(checks: readonly Check<RuleName<R>>[]): MaybePromise<Taking<R>> {
    const { limiter, reservations, now } = this;
    const { notices } = this.options;
    const taken = checks.map(({ rule, key, cost = 1 }, i): Taken<RuleName<R>> => {
      return { rule, limit: limiter.limitOf(rule), key, cost, reserved: this.limits[i].reserves };
    });
    if (reservations !== undefined) return this.reserve(taken, reservations);
    const at = now();
    return after(take(limiter, checks), (decided) => {
      return { decided, charge: new Charge(limiter, taken, at, now, notices) };
    });
  }

  private async reserve(taken: readonly Taken<RuleName<R>>[], reservations: Reservations): Promise<Taking<R>> {
    const { limiter, now } = this;
    const { forMs, notices } = this.options;
    const operations = taken.map(({ rule, key, cost }) => ({ rule: this.rule(rule), key, cost }));
    const final = this.limits.map(({ reserves }) => !reserves);
    const { verdict, ...reserved } = await reservations.reserveApart(operations, { forMs, final });
    const { decisions, allowed: admitted } = verdict;
    decisions.forEach((decision, i) => void limiter.onDecision?.(decision, { key: taken[i].key, admitted }));
    const decided = taken.length === 1 ? verdict.deciding : verdict;
    const at = Math.round(verdict.timeMs * 1000);
    const rates = taken.filter((_, i) => !this.limits[i].slots);
    return { decided, charge: new Charge(limiter, rates, at, now, notices, reserved) };
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
