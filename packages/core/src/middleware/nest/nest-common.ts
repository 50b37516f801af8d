import type { Limiter } from "../../limiter/limiter.ts";
import type { RuleName, Rules } from "../../limiter/rules.ts";
import type { MiddlewareOptions } from "../middleware-options.ts";
import type { RateLimitOptions } from "./guard.ts";

/** What the guards of a program have in common. */
export interface Common<R extends Rules, Request> {
  readonly limiter: Limiter<R>;
  /** The limits of routes without a decoration. */
  readonly rules: MiddlewareOptions<RuleName<R>, Request>["rules"] | undefined;
  /** What a decoration does not say itself. */
  readonly options: RateLimitOptions<Request>;
}

/** Where guards get it from. If nothing is there, Nest says by this name what is missing. */
export const COMMON = Symbol("RateLimitModule.forRoot");
