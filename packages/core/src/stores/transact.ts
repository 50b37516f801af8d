import { Outcome } from "../algorithms/algorithm.ts";
import { traitsOf } from "../algorithms/lookup.ts";
import { needsSlot } from "../limiter/needs-slot.ts";
import type { Limit } from "../limits/limit.ts";
import { slotAnswer } from "./slot-operations.ts";
import {
  type Action,
  type Answer,
  askedCost,
  limitOf,
  type Operation,
  type Reserved,
  type SlotHolder,
} from "./store.ts";

/** The row of one operation, valid until the next one is located. */
export interface Row {
  /** Whether the key has a row; otherwise the current one is blank. */
  readonly known: boolean;
  /** Earlier times count as this one; −Infinity for no restriction. */
  readonly notBefore: number;
  /** Whether other keys are counted in the row too. */
  readonly shared: boolean;
  /** Decides at a time that is not before `notBefore`, without taking anything. */
  evaluate(limit: Limit, cost: number, time: number, out: Outcome, holder?: SlotHolder): void;
  /** Charges the row with the result in `out`, creating it if the key has none. */
  charge(limit: Limit, cost: number, now: number, out: Outcome, holder?: SlotHolder): void;
  /** Refunds units. */
  refund(limit: Limit, cost: number, now: number): void;
  /** Lets a lease of slots end later, and decides into `out`. */
  extend?(limit: Limit, cost: number, now: number, out: Outcome, holder: SlotHolder): void;
  /** Frees slots. */
  release?(now: number, holder: SlotHolder): void;
  /** Removes the row. */
  drop(): void;
}

export type Locate = (operation: Operation) => Row;

/**
 * Decides a request of several operations in one step, on rows that nothing else changes meanwhile. `arrive`
 * locates a row for the first time.
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
      answer(now, limitOf(operation), asked[i], evaluate(locate(operation), limitOf(operation), 0, now)),
    );
  }
  if (action === "takeFirst") return takeFirst(operations, now, locate, arrive);
  if (action === "charge") return operations.map((operation) => chargeAlways(operation, now, locate, arrive));
  if (action === "extend") return operations.map((operation) => extend(operation, now, arrive(operation)));
  changeAll(action, operations, now, locate);
  return operations.map((operation) => {
    const limit = limitOf(operation);
    const holder = action === "peek" ? operation.slot : undefined;
    const asked = evaluate(locate(operation), limit, askedCost(action, operation), now, holder);
    return answer(now, limit, asked, evaluate(locate(operation), limit, 0, now));
  });
}

/** Charges the first operation that has room. */
function takeFirst(operations: readonly Operation[], now: number, locate: Locate, arrive: Locate): Answer[] {
  let isTaken = false;
  return operations.map((operation) => {
    const limit = limitOf(operation);
    const row = isTaken ? locate(operation) : arrive(operation);
    const asked = evaluate(row, limit, operation.cost, now);
    if (asked.allowed && !isTaken) {
      isTaken = true;
      changeAll("take", [operation], now, locate);
    }
    return answer(now, limit, asked, evaluate(locate(operation), limit, 0, now));
  });
}

/** Decides an operation and charges it even if it is denied. The wait of a denial includes what it was charged. */
function chargeAlways(operation: Operation, now: number, locate: Locate, arrive: Locate): Answer {
  const { cost } = operation;
  const limit = limitOf(operation);
  const { allowed } = evaluate(arrive(operation), limit, cost, now);
  changeAll("charge", [operation], now, locate);
  const after = evaluate(locate(operation), limit, 0, now);
  const { retryAfter } = allowed ? after : evaluate(locate(operation), limit, cost, now);
  return { ...answer(now, limit, after, after), allowed, retryAfter: allowed ? 0 : retryAfter };
}

/** Evaluates each operation of a request. Operations that share a row see what the earlier ones take from it. */
function evaluateAll(operations: readonly Operation[], now: number, arrive: Locate): Outcome[] {
  const taken = new Map<Row, number>();
  return operations.map((operation) => {
    const row = arrive(operation);
    const { cost, slot } = operation;
    const limit = limitOf(operation);
    if (!row.shared) return evaluate(row, limit, cost, now, slot);
    const before = taken.get(row) ?? 0;
    taken.set(row, before + cost);
    return evaluate(row, limit, before + cost, now, slot);
  });
}

function extend(operation: Operation, now: number, row: Row): Answer {
  const { cost, slot } = operation;
  const limit = limitOf(operation);
  if (row.extend === undefined || slot === undefined) throw needsSlot(operation.rule.name);
  const out = new Outcome();
  const time = Math.max(now, row.notBefore);
  row.extend(limit, cost, time, out, slot);
  sinceNow(out, time - now);
  return answer(now, limit, out, evaluate(row, limit, 0, now));
}

function evaluate(row: Row, limit: Limit, cost: number, now: number, holder?: SlotHolder): Outcome {
  const out = new Outcome();
  evaluateRow(row, limit, cost, now, out, holder);
  return out;
}

/** Decides on a row, no earlier than it allows. The waits in `out` are still relative to `now`. */
export function evaluateRow(
  row: Row,
  limit: Limit,
  cost: number,
  now: number,
  out: Outcome,
  holder?: SlotHolder,
): void {
  const time = Math.max(now, row.notBefore);
  row.evaluate(limit, cost, time, out, holder);
  sinceNow(out, time - now);
}

/** Makes the waits relative to an earlier time. */
function sinceNow(out: Outcome, later: number): void {
  if (out.retryAfter > 0) out.retryAfter += later;
  if (out.resetAfter > 0) out.resetAfter += later;
}

function changeAll(action: Action, operations: readonly Operation[], now: number, locate: Locate): void {
  for (const operation of operations) {
    const { cost, slot } = operation;
    const limit = limitOf(operation);
    const row = locate(operation);
    if (action === "take" || action === "charge" || action === "penalize") {
      const out = evaluate(row, limit, cost, now, slot);
      if (cost > 0) row.charge(limit, cost, now, out, slot);
    } else if (action === "settle") {
      settle(row, operation, now);
    } else if (action === "release" && slot !== undefined) {
      row.release?.(Math.max(now, row.notBefore), slot);
    } else if (row.known && action === "refund") {
      row.refund(limit, cost, now);
    } else if (row.known && action === "reset") {
      row.drop();
    }
  }
}

function settle(row: Row, operation: Operation, now: number): void {
  const { cost, reserved = NOTHING } = operation;
  const limit = limitOf(operation);
  const more = cost - reserved.cost;
  if (more > 0) row.charge(limit, more, now, evaluate(row, limit, more, now));
  else if (more < 0 && row.known && now < reserved.until) row.refund(limit, -more, now);
}

const NOTHING: Reserved = { cost: 0, until: 0 };

/** Combines the decision with the remaining quota afterwards. */
function answer(time: number, limit: Limit, asked: Outcome, after: Outcome): Answer {
  const { allowed, retryAfter } = asked;
  const { remaining, resetAfter } = after;
  const answer: Answer = { time, allowed, remaining, retryAfter, resetAfter, source: "store", degraded: false };
  return traitsOf(limit).releasable ? slotAnswer(answer, after.level) : answer;
}
