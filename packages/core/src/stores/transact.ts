import { type Algorithm, Outcome } from "../algorithms/algorithm.ts";
import type { Limit } from "../limits/limit.ts";
import { type Action, type Answer, limitOf, type Operation } from "./store.ts";

/** The row of one operation, valid until the next one is located. */
export interface Row {
  readonly algorithm: Algorithm;
  readonly cells: Float64Array;
  readonly at: number;
  /** Whether the key has a row; otherwise the current one is blank. */
  readonly known: boolean;
  /** Earlier times count as this one; −Infinity for no restriction. */
  readonly notBefore: number;
  /** Whether other keys are counted in the row too. */
  readonly shared: boolean;
  /** Charges the row with the result in `out`, creating it if the key has none. */
  charge(limit: Limit, cost: number, now: number, out: Outcome): void;
  /** Refunds units. */
  refund(limit: Limit, cost: number, now: number): void;
  /** Removes the row. */
  drop(): void;
}

export type Locate = (operation: Operation) => Row;

/**
 * Decides a request of several operations, all or nothing, on rows that nothing else changes meanwhile. `arrive`
 * locates
 * a row for the first time.
 */
export function transact(
  action: Action,
  operations: readonly Operation[],
  now: number,
  locate: Locate,
  arrive: Locate = locate,
): Answer[] {
  if (action === "take") {
    const asked = evaluateAll(operations, now, arrive);
    if (asked.every((out) => out.allowed)) changeAll(action, operations, now, locate);
    return operations.map((operation, i) =>
      answer(now, asked[i], evaluate(locate(operation), limitOf(operation), 0, now)),
    );
  }
  changeAll(action, operations, now, locate);
  return operations.map((operation) => {
    const limit = limitOf(operation);
    const asked = evaluate(locate(operation), limit, action === "peek" ? operation.cost : 1, now);
    return answer(now, asked, evaluate(locate(operation), limit, 0, now));
  });
}

/** Evaluates each operation of a request. Operations that share a row see what the earlier ones take from it. */
function evaluateAll(operations: readonly Operation[], now: number, arrive: Locate): Outcome[] {
  const taken = new Map<Row, number>();
  return operations.map((operation) => {
    const row = arrive(operation);
    const { cost } = operation;
    const limit = limitOf(operation);
    if (!row.shared) return evaluate(row, limit, cost, now);
    const before = taken.get(row) ?? 0;
    taken.set(row, before + cost);
    return evaluate(row, limit, before + cost, now);
  });
}

function evaluate(row: Row, limit: Limit, cost: number, now: number): Outcome {
  const out = new Outcome();
  evaluateRow(row, limit, cost, now, out);
  return out;
}

/** Decides on a row, no earlier than it allows. The waits in `out` are still relative to `now`. */
export function evaluateRow(row: Row, limit: Limit, cost: number, now: number, out: Outcome): void {
  const { algorithm, cells, at, notBefore } = row;
  const time = Math.max(now, notBefore);
  algorithm.evaluate(limit, cells, at, time, cost, out);
  if (out.retryAfter > 0) out.retryAfter += time - now;
  if (out.resetAfter > 0) out.resetAfter += time - now;
}

function changeAll(action: Action, operations: readonly Operation[], now: number, locate: Locate): void {
  for (const operation of operations) {
    const { cost } = operation;
    const limit = limitOf(operation);
    const row = locate(operation);
    if (action === "take" || action === "penalize") {
      const out = evaluate(row, limit, cost, now);
      if (cost > 0) row.charge(limit, cost, now, out);
    } else if (row.known && action === "refund") {
      row.refund(limit, cost, now);
    } else if (row.known && action === "reset") {
      row.drop();
    }
  }
}

/** Combines the decision with the remaining quota afterwards. */
function answer(time: number, asked: Outcome, after: Outcome): Answer {
  return {
    time,
    allowed: asked.allowed,
    remaining: after.remaining,
    retryAfter: asked.retryAfter,
    resetAfter: after.resetAfter,
    source: "store",
    degraded: false,
  };
}
