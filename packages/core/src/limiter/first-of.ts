import { HeadgateError } from "../errors.ts";
import type { Answer, ApplyOptions, Operation, Store } from "../stores/store.ts";
import { decisionOf, type SyncStore } from "./decide.ts";
import { type Decision, setDeniedBy, setKey } from "./decision.ts";
import { after, type MaybePromise } from "./maybe-promise.ts";

/** What to do about an alternative that is listed twice. */
export const ONE_OF_THEM = "leave out one of them, because only one of all checks is charged";

/** The alternative that a request was decided by. */
export interface Chosen<Name extends string> {
  readonly decision: Decision<Name>;
  readonly key: string;
}

/**
 * Charges the first of several alternatives that has room. If none has, the decision is the denial that ends first.
 */
export function decideFirst<Name extends string>(
  store: SyncStore,
  operations: readonly Operation<Name>[],
  options?: ApplyOptions,
): Chosen<Name>;
export function decideFirst<Name extends string>(
  store: Store,
  operations: readonly Operation<Name>[],
  options?: ApplyOptions,
): MaybePromise<Chosen<Name>>;
export function decideFirst<Name extends string>(
  store: Store,
  operations: readonly Operation<Name>[],
  options?: ApplyOptions,
): MaybePromise<Chosen<Name>> {
  if (store.takesFirst !== true) {
    throw new HeadgateError(
      "HG_NOT_SUPPORTED",
      "store",
      "does not support firstOf: a store of your own has to know the action takeFirst, and to set takesFirst",
    );
  }
  return after(store.apply("takeFirst", operations, options), (answers) => chosenOf(operations, answers));
}

function chosenOf<Name extends string>(
  operations: readonly Operation<Name>[],
  answers: readonly Answer[],
): Chosen<Name> {
  const taken = answers.findIndex(({ allowed }) => allowed);
  const at = taken >= 0 ? taken : soonest(answers);
  const operation = operations[at];
  const decision = decisionOf("takeFirst", operation, answers[at]);
  setKey(decision, operation.key);
  if (taken < 0) {
    setDeniedBy(
      decision,
      operations.map(({ rule }) => rule.name),
    );
  }
  return { decision, key: operation.key };
}

/** The denial with the shortest wait; of several, the first. */
function soonest(answers: readonly Answer[]): number {
  let at = 0;
  for (let i = 1; i < answers.length; i += 1) if (answers[i].retryAfter < answers[at].retryAfter) at = i;
  return at;
}
