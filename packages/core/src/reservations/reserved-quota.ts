import { traitsOf } from "../algorithms/lookup.ts";
import { limitOf, type Operation } from "../stores/store.ts";
import { chargedUntil } from "./charged-until.ts";

/** What a reservation holds under one limit. */
export class ReservedQuota<Name extends string = string> {
  readonly operation: Operation<Name>;
  /** Whether it stays charged unless a cost is stated for it: it was no estimate. */
  readonly isFinal: boolean;
  /** Units reserved, including those of windows that have ended. */
  cost: number;
  /** Units that were taken in windows that have ended, and cannot be given back. */
  sunk = 0;
  /** Until when the other units count, by the store's clock. */
  until = 0;
  /** What `spend` has counted. */
  spent: number | undefined;
  /** Whether these are slots, which are released instead of settled. */
  readonly isSlots: boolean;

  constructor(operation: Operation<Name>, isFinal = false) {
    this.operation = operation;
    this.isFinal = isFinal;
    this.cost = operation.cost;
    this.isSlots = traitsOf(limitOf(operation)).releasable === true;
  }

  /** The cost if it is not settled explicitly; depends on whether any of the reservation was spent. */
  costUnlessStated(isSpent: boolean): number {
    return this.isFinal || isSpent ? (this.spent ?? this.cost) : 0;
  }

  /** The operation that takes it. */
  taking(id: string, forMs: number): Operation<Name> {
    if (!this.isSlots) return this.operation;
    const { rule, key, cost, limit } = this.operation;
    const slot = { id, forUs: forMs * 1000 };
    return limit === undefined ? { rule, key, cost, slot } : { rule, key, cost, limit, slot };
  }

  /** Notes that `cost` more units were taken at a time of the store's clock. */
  taken(cost: number, time: number): void {
    const until = chargedUntil(limitOf(this.operation), time);
    const isFirst = this.until === 0;
    if (!isFirst && this.until <= time) this.sunk = this.cost;
    this.until = isFirst || this.until <= time ? until : Math.min(this.until, until);
    if (!isFirst) this.cost += cost;
  }

  /** The operation that makes it cost so much. */
  settling(cost: number): Operation<Name> {
    const { sunk, until } = this;
    const { rule, key, limit } = this.operation;
    const reserved = { cost: this.cost - sunk, until };
    const settled = Math.max(0, cost - sunk);
    return limit === undefined ? { rule, key, cost: settled, reserved } : { rule, key, cost: settled, limit, reserved };
  }
}
