import { traitsOf } from "../algorithms/lookup.ts";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  askedCost,
  limitOf,
  type Operation,
  type Store,
} from "../stores/store.ts";
import { Decision, LeasedDecision, SlotDecision } from "./decision.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { Verdict } from "./verdict.ts";

/** A store that answers without a promise. */
export interface SyncStore extends Store {
  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): readonly Answer[];
}

/**
 * Carries out the operations of one request on a store, and combines its answers into a verdict, which is a promise if
 * the store answers with one.
 */
export function decide<Name extends string>(
  store: SyncStore,
  action: Action,
  operations: readonly Operation<Name>[],
  options?: ApplyOptions,
): Verdict<Name>;
export function decide<Name extends string>(
  store: Store,
  action: Action,
  operations: readonly Operation<Name>[],
  options?: ApplyOptions,
): MaybePromise<Verdict<Name>>;
export function decide<Name extends string>(
  store: Store,
  action: Action,
  operations: readonly Operation<Name>[],
  options?: ApplyOptions,
): MaybePromise<Verdict<Name>> {
  const answers = store.apply(action, operations, options);
  return "then" in answers
    ? answers.then((answers) => verdictOf(action, operations, answers))
    : verdictOf(action, operations, answers);
}

/** What the answers of a store mean. */
export function verdictOf<Name extends string>(
  action: Action,
  operations: readonly Operation<Name>[],
  answers: readonly Answer[],
): Verdict<Name> {
  return new Verdict(operations.map((operation, i) => decisionOf(action, operation, answers[i])));
}

/** What the answer to one operation means. */
export function decisionOf<Name extends string>(
  action: Action,
  operation: Operation<Name>,
  answer: Answer,
): Decision<Name> {
  const { rule } = operation;
  const limit = limitOf(operation);
  const checked = askedCost(action, operation);
  if (traitsOf(limit).releasable) return new SlotDecision(rule, checked, answer, limit);
  // The state of a lease is put together when it is read.
  return "lease" in answer
    ? new LeasedDecision(rule, checked, answer, limit)
    : new Decision(rule, checked, answer, answer.time, answer.source, answer.degraded, limit);
}
