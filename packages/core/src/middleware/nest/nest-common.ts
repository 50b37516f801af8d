import type { Limiter } from "../../limiter/limiter.ts";
import type { RuleName, Rules } from "../../limiter/rules.ts";
import type { MiddlewareOptions } from "../middleware-options.ts";
import type { RateLimitOptions } from "./guard.ts";

/** What all guards of an application share. */
export interface Common<R extends Rules, Request> {
  readonly limiter: Limiter<R>;
  /** The rules of routes without a decorator. */
  readonly rules: MiddlewareOptions<RuleName<R>, Request>["rules"] | undefined;
  /** Defaults for the options of decorators. */
  readonly options: RateLimitOptions<Request>;
}

/** Injection token. If the module was not imported, Nest's error message shows this name. */
export const COMMON = Symbol("RateLimitModule.forRoot");
