import { type Algorithm, Outcome } from "../../src/algorithms/algorithm.ts";
import { algorithmOf } from "../../src/algorithms/lookup.ts";
import type { Limit } from "../../src/limits/limit.ts";

export interface Answer {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfter: number;
  readonly resetAfter: number;
}

/** The row is not at the start of its array, and its neighbours must not be touched. */
const AT = 3;
const NEIGHBOUR = -12_345;

/** What one key has used, as a minimal store: it only grows the row and applies the transition. */
export class Row {
  limit: Limit;
  private cells: Float64Array;

  constructor(limit: Limit) {
    this.limit = limit;
    this.cells = between(this.algorithm.blank);
  }

  /** As the limit may change, so may what decides by it. */
  private get algorithm(): Algorithm {
    return algorithmOf(this.limit);
  }

  /** Decides and changes nothing. */
  ask(now: number, cost: number): Answer {
    const { allowed, remaining, retryAfter, resetAfter } = this.evaluate(now, cost);
    return { allowed, remaining, retryAfter, resetAfter };
  }

  /** A request: charged if it is allowed. */
  take(now: number, cost: number): Answer {
    const answer = this.ask(now, cost);
    if (answer.allowed) this.penalize(now, cost);
    return answer;
  }

  /** Charges whether it fits or not. */
  penalize(now: number, cost: number): void {
    if (cost === 0) return;
    const out = this.evaluate(now, cost);
    const { resize } = this.algorithm;
    const length = resize?.lengthToCharge(this.limit, this.cells, AT, out) ?? 0;
    if (length > 0) {
      const longer = between(new Array<number>(length).fill(0));
      resize?.copy(this.cells, AT, longer, AT, length);
      this.cells = longer;
    }
    this.algorithm.charge(this.limit, this.cells, AT, cost, out);
    this.checkNeighbours();
  }

  refund(now: number, cost: number): void {
    this.algorithm.refund(this.limit, this.cells, AT, now, cost);
    this.checkNeighbours();
  }

  blankFrom(): number {
    return this.algorithm.blankFrom(this.limit, this.cells, AT);
  }

  /** The numbers of the row, to see whether they changed. */
  get state(): readonly number[] {
    return Array.from(this.cells.subarray(AT, -AT));
  }

  /** The same row, to try something on. */
  copy(limit = this.limit): Row {
    const copy = new Row(limit);
    copy.cells = this.cells.slice();
    return copy;
  }

  private evaluate(now: number, cost: number): Outcome {
    const out = new Outcome();
    this.algorithm.evaluate(this.limit, this.cells, AT, now, cost, out);
    return out;
  }

  private checkNeighbours(): void {
    const neighbours = [...this.cells.subarray(0, AT), ...this.cells.subarray(-AT)];
    if (neighbours.some((cell) => cell !== NEIGHBOUR)) throw new Error(`wrote outside of its row: ${this.cells}`);
  }
}

function between(row: readonly number[]): Float64Array {
  const cells = new Float64Array(row.length + 2 * AT).fill(NEIGHBOUR);
  cells.set(row, AT);
  return cells;
}
