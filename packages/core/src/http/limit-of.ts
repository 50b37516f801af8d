import type { Limit } from "../limit/limit.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { RuleName, Rules } from "../limiter/rules.ts";

/** The limit that a rule has by now; refuses a rule that the limiter does not have. */
export function limitOf<R extends Rules>(limiter: Limiter<R>, rule: RuleName<R>): Limit {
  // Within the library, and read only: what a limiter's own subclasses may see.
  return limiter["rule"](rule).limit;
}
