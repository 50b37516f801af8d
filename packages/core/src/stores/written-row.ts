import type { Algorithm, Outcome } from "../algorithms/algorithm.ts";
import { algorithmOf } from "../algorithms/lookup.ts";
import type { Limit } from "../limits/limit.ts";
import type { Row } from "./transact.ts";

/** A copy of a row that a store reads before it decides, and writes afterwards if it has changed. */
export class WrittenRow implements Row {
  algorithm: Algorithm;
  cells: Float64Array;
  readonly at = 0;
  known: boolean;
  readonly shared = false;
  readonly notBefore = Number.NEGATIVE_INFINITY;
  isChanged = false;
  /** The row that was read, or a blank one. */
  readonly before: Float64Array;
  protected limit: Limit;

  constructor(limit: Limit, read: Float64Array | undefined) {
    this.limit = limit;
    this.algorithm = algorithmOf(limit);
    this.before = read ?? Float64Array.from(this.algorithm.blank);
    this.cells = this.before.slice();
    this.known = read !== undefined;
  }

  /** The limit of the next operation on the row. */
  use(limit: Limit): void {
    this.limit = limit;
    this.algorithm = algorithmOf(limit);
  }

  evaluate(limit: Limit, cost: number, time: number, out: Outcome): void {
    this.algorithm.evaluate(limit, this.cells, 0, time, cost, out);
  }

  charge(limit: Limit, cost: number, _now: number, out: Outcome): void {
    const { resize } = this.algorithm;
    const length = resize?.lengthToCharge(limit, this.cells, 0, out) ?? 0;
    if (length > 0) {
      const longer = new Float64Array(length);
      resize?.copy(this.cells, 0, longer, 0, length);
      this.cells = longer;
    }
    this.algorithm.charge(limit, this.cells, 0, cost, out);
    this.known = true;
    this.isChanged = true;
  }

  refund(limit: Limit, cost: number, now: number): void {
    this.algorithm.refund(limit, this.cells, 0, now, cost);
    this.isChanged = true;
  }

  drop(): void {
    this.cells = Float64Array.from(this.algorithm.blank);
    this.isChanged = true;
  }

  /** When the row becomes worthless under the limit used last. */
  get blankFrom(): number {
    return this.algorithm.blankFrom(this.limit, this.cells, 0);
  }
}
