import type { AsyncChecker } from "../../subjects/subject.ts";
import { checker } from "./rate-limiter-flexible.ts";
import type { SharedLimiterOptions } from "./subject.ts";

export function make(options: SharedLimiterOptions): Promise<AsyncChecker> {
  return checker(options, { inMemoryBlockOnConsumed: options.limit });
}
