import type { Decision } from "../limiter/decision.ts";
import type { Verdict } from "../limiter/verdict.ts";
import type { HeaderField } from "./headers/response-headers.ts";
import type { Ending } from "./refund-on.ts";

/** The result of the middleware's check. */
export type Admission = Passed | Denied;

/** The result of the middleware's check for a request that is allowed. */
export interface Passed {
  readonly allowed: true;
  /** Headers for the response. */
  readonly headers: readonly HeaderField[];
  /** The decision, or the verdict of several rules. Undefined if the request was skipped or the store failed. */
  readonly decided: Decision | Verdict | undefined;
  /**
   * Replaces a reservation with the real cost, for this middleware and those before it. Can be called again when more is
   * known; `decided` does not change. Rejects if no rule reserves.
   */
  settle(cost: number): Promise<void>;
  /** Called by the middleware when the response has ended. Never fails. */
  ended(ending: Ending): Promise<void>;
}

/** The result of the middleware's check for a request that is denied. */
export interface Denied {
  readonly allowed: false;
  /** 429, or 503 if the request was denied because the store failed. */
  readonly status: 429 | 503;
  /** Headers for the response. */
  readonly headers: readonly HeaderField[];
  /** The default body, of type `application/problem+json`. */
  readonly body: string;
  /** The decision, or the verdict of several rules. Undefined if the store failed. */
  readonly decided: Decision | Verdict | undefined;
  /** The rules that denied the request. */
  readonly deniedBy: readonly string[];
}
