import { HeadgateError, shown } from "../errors.ts";
import { warn } from "../warning.ts";
import type { Decision } from "./decision.ts";
import { isPromise } from "./maybe-promise.ts";

/** What a decision was about. */
export interface DecisionContext {
  readonly key: string;
  /** Whether the request was admitted, and so charged: with several rules, only if none of them denied it. */
  readonly admitted: boolean;
}

/** Is told of each decision about a request. What it throws is warned of once, and changes nothing. */
export type OnDecision = (decision: Decision, context: DecisionContext) => void;

/** What a limiter takes besides the options of its store. */
export interface LimiterOptions {
  /** Called with each decision of `check`, `checkAll` and `checkMany`, and of the middleware; for metrics and logs. */
  readonly onDecision?: OnDecision | undefined;
}

/** Reads the option `onDecision`: calls it so that it can do no harm. */
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
