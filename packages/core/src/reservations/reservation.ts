import { HeadgateError } from "../errors.ts";
import { requireCost } from "../limiter/check-options.ts";
import type { Decision } from "../limiter/decision.ts";
import { unknownRule } from "../limiter/rules.ts";
import type { Verdict } from "../limiter/verdict.ts";
import type { OpenReservation } from "./open-reservation.ts";
import type { ReservedCheck } from "./reservation-state.ts";
import type { Reservations } from "./reservations.ts";
import { requireForMs } from "./reserve-options.ts";
import type { ReservedQuota } from "./reserved-quota.ts";

/** Costs by rule. If a rule was checked with several keys, the cost applies to each of them. */
export type Costs<Name extends string = string> = { readonly [Rule in Name]?: number | undefined };

/** Node has it from version 20 on; other runtimes may not. */
const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for("Symbol.asyncDispose") as typeof Symbol.asyncDispose);

/**
 * Quota taken on an estimate, until it is settled or released. If it was denied, nothing was taken, and the decisions
 * say why.
 */
export class Reservation<Name extends string = string> {
  /** Whether the quota was reserved. If not, nothing was taken. */
  readonly allowed: boolean;
  /** The decision of each check, in the order of the checks. */
  readonly decisions: readonly Decision<Name>[];
  /** The rules that denied it. Empty if it was allowed. */
  readonly deniedBy: readonly Name[];
  /** The combined result of the checks. */
  readonly verdict: Verdict<Name>;
  readonly #open: OpenReservation<Name>;
  readonly #reservations: Reservations;

  constructor(open: OpenReservation<Name>, reservations: Reservations) {
    const { verdict } = open;
    this.allowed = verdict.allowed;
    this.decisions = verdict.decisions;
    this.deniedBy = verdict.deniedBy;
    this.verdict = verdict;
    this.#open = open;
    this.#reservations = reservations;
  }

  /** Identifies the reservation: `limiter.reservation(id)` settles or releases it in another process. */
  get id(): string {
    this.#open.isShared = true;
    return this.#open.state.id;
  }

  /** When it expires unless it is extended, in milliseconds since the epoch, by the store's clock. */
  get deadlineMs(): number {
    return this.#open.deadline / 1000;
  }

  /** On whose behalf it was made, if that was stated. */
  get owner(): string | undefined {
    return this.#open.state.owner;
  }

  /** When it was made, in milliseconds since the epoch, by the store's clock. */
  get madeAtMs(): number {
    return this.#open.state.madeAt / 1000;
  }

  /** What is reserved. */
  get checks(): readonly ReservedCheck[] {
    return this.#open.state.checks;
  }

  /** Whether it was settled or released. */
  get isEnded(): boolean {
    return this.#open.ended !== undefined;
  }

  /**
   * Aborts when the reservation is lost: its process did not extend it in time, so that others may use its quota. The
   * reason is an error with the code HG_RESERVATION_LOST.
   */
  get signal(): AbortSignal {
    return this.#open.signal;
  }

  /**
   * Counts units as spent, without calling the store. Returns false, and counts nothing, if less is left of the estimate,
   * or if the reservation has ended.
   */
  spend(rule: Name, units = 1): boolean {
    requireCost(units);
    const quotas = this.#quotasOf(rule, "rule");
    if (!this.#isOpen || quotas.some(({ cost, spent = 0 }) => spent + units > cost)) return false;
    for (const quota of quotas) quota.spent = (quota.spent ?? 0) + units;
    return true;
  }

  /** Keeps the reservation for at least `ms` milliseconds from now. The process that made it extends it automatically. */
  async extend(ms: number): Promise<void> {
    requireForMs(ms, "ms");
    this.#requireOpen();
    await this.#reservations.extend(this.#open, ms);
  }

  /**
   * Changes the estimates. If a rule does not have enough quota, resolves with a denial and changes nothing. Rules that
   * are not named keep their estimates.
   */
  async adjust(costs: Costs<Name>): Promise<Verdict<Name>> {
    const all = this.#costs(costs);
    this.#requireOpen();
    return this.#reservations.adjust(this.#open, all);
  }

  /**
   * Replaces the estimates with the real costs, returns the slots, and ends the reservation. Rules that are not named keep
   * their estimates. Repeated with the same costs, it returns the first result; with others it fails with
   * HG_RESERVATION_SETTLED.
   */
  async settle(costs: Costs<Name> = {}): Promise<Verdict<Name>> {
    const all = this.#costs(costs);
    if (!this.allowed) throw nothingReserved();
    return await this.#reservations.end(this.#open, all);
  }

  /** Returns all reserved quota and ends the reservation. */
  async release(): Promise<void> {
    if (this.allowed) await this.#reservations.end(this.#open, this.#open.state.quotas.map(zero));
  }

  /**
   * Releases a reservation that was not settled, if nothing was spent. Otherwise it is charged what was spent, and its
   * estimate under rules without spending.
   */
  async [asyncDispose](): Promise<void> {
    const { state, ended } = this.#open;
    if (!this.allowed || ended !== undefined) return;
    try {
      await this.#reservations.end(this.#open, state.costsUnlessSettled);
    } catch (error) {
      // Another process has ended it, or the store failed: then it is ended when the store is back.
      if (!(error instanceof HeadgateError)) throw error;
    }
  }

  get #isOpen(): boolean {
    return this.allowed && this.#open.ended === undefined && this.#open.lost === undefined;
  }

  #requireOpen(): void {
    const { ended } = this.#open;
    if (!this.allowed) throw nothingReserved();
    if (ended !== undefined)
      throw new HeadgateError("HG_RESERVATION_SETTLED", "reservation", `${this.#open.state.id} has ended`);
    this.#open.throwIfLost();
  }

  /** The cost of each check. */
  #costs(costs: Costs<Name>): readonly number[] {
    if (typeof costs !== "object" || costs === null || Array.isArray(costs)) {
      throw new HeadgateError("HG_BAD_COST", "costs", "must be an object of costs by rule, as in { tokens: 700 }");
    }
    for (const name of Object.keys(costs) as Name[]) {
      if (costs[name] === undefined) continue;
      this.#quotasOf(name, `costs.${name}`);
      requireCost(costs[name], `costs.${name}`);
    }
    // Every object inherits properties such as `constructor`, which may be the name of a rule.
    return this.#open.state.quotas.map(({ operation: { rule }, cost }) => {
      return (Object.hasOwn(costs, rule.name) ? costs[rule.name] : undefined) ?? cost;
    });
  }

  #quotasOf(rule: Name, field: string): readonly ReservedQuota<Name>[] {
    const { quotas } = this.#open.state;
    const found = quotas.filter(({ operation }) => operation.rule.name === rule);
    if (found.length === 0) {
      const names = new Set(quotas.map(({ operation }) => operation.rule.name));
      throw unknownRule(rule, names, field, "this reservation");
    }
    if (found.some(({ isSlots }) => isSlots)) {
      throw new HeadgateError("HG_NEEDS_SLOT", field, `${rule} limits concurrent tasks, and slots have no cost`);
    }
    return found;
  }
}

function zero(): number {
  return 0;
}

function nothingReserved(): HeadgateError {
  return new HeadgateError(
    "HG_NOT_RESERVED",
    "reservation",
    "was denied, so nothing is reserved: check `allowed` first",
  );
}
