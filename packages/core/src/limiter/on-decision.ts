import { HeadgateError, shown } from "../errors.ts";
import { warn } from "../warning.ts";
import type { Decision } from "./decision.ts";
import { isPromise } from "./maybe-promise.ts";

/** The request that a decision is about. */
interface DecisionContext {
  /** The key that was checked. */
  readonly key: string;
  /** Whether the request as a whole was allowed. With several rules: whether none of them denied it. */
  readonly admitted: boolean;
}

/** Called with each decision. If it throws, a warning is emitted once; the decision is not affected. */
export type OnDecision = (decision: Decision, context: DecisionContext) => void;

/** Options of every limiter. */
export interface LimiterOptions {
  /**
   * Called with each decision, for metrics and logs: of `check`, `checkAll`, `firstOf`, `checkMany`, `reserve`, `run`
   * and the middleware, and of each attempt of `wait` and `schedule`.
   */
  readonly onDecision?: OnDecision | undefined;
}

/** Reads the option `onDecision`. The returned function never throws. */
export function requireOnDecision(onDecision: unknown): OnDecision {
  if (typeof onDecision !== "function") {
    throw new HeadgateError("HG_BAD_OPTION", "onDecision", `must be a function, got ${shown(onDecision)}`);
  }
  let failed = false;
  const fail = (error: unknown): void => {
    if (failed) return;
    failed = true;
    warn("HG_ON_DECISION_FAILED", "onDecision failed; the decisions themselves are not affected", error);
  };
  return (decision, context) => {
    try {
      const done: unknown = onDecision(decision, context);
      if (isPromise(done)) done.then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  };
}
