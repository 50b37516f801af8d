import type { Decision } from "../limiter/decision.ts";
import type { Verdict } from "../limiter/verdict.ts";
import type { HeaderField } from "./headers/response-headers.ts";
import type { Ending } from "./refund-on.ts";

/** The decision about one limit, or the verdict about several. */
export type Outcome = Decision | Verdict;

/** What the gate says to a request. */
export type Admission = Passed | Refused;

/** The request goes on. */
export interface Passed {
  readonly allowed: true;
  /** To be set on the response, whatever becomes of it. */
  readonly headers: readonly HeaderField[];
  /** Nothing if the request was skipped or the store failed. */
  readonly decided: Outcome | undefined;
  /**
   * Tells the real cost of a request for which some was reserved, by this gate or by those before it. Can be told
   * again, as more is known; `decided` stays what it was. Rejects if nothing was to be reserved.
   */
  settle(cost: number): Promise<void>;
  /** To be called when the response has ended, if the gate `watches`. It never fails. */
  ended(ending: Ending): Promise<void>;
}

/** The request ends here, with this response unless the program has one of its own. */
export interface Refused {
  readonly allowed: false;
  readonly status: 429 | 503;
  readonly headers: readonly HeaderField[];
  /** `application/problem+json`. */
  readonly body: string;
  /** Nothing if the store failed. */
  readonly decided: Outcome | undefined;
  /** The rules that refused. */
  readonly violated: readonly string[];
}
