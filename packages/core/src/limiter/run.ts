import { traitsOf } from "../algorithms/lookup.ts";
import { HeadgateError } from "../errors.ts";
import type { ReserveOptions } from "../reservations/reserve-options.ts";
import type { Rule } from "../stores/store.ts";
import type { CostOptions } from "./check-options.ts";

/** Options of `run`. `cost` is the number of slots. */
export interface RunOptions extends CostOptions, ReserveOptions {}

export const RUN_OPTIONS: ReadonlySet<string> = new Set(["cost", "limit", "forMs", "maxWaitMs", "signal"]);

export function requireConcurrent({ name, limit }: Rule): void {
  if (traitsOf(limit).releasable) return;
  throw new HeadgateError(
    "HG_NOT_CONCURRENT",
    "rule",
    `${name} is a ${limit.algorithm}; run needs a concurrency limit, use check or reserve instead`,
  );
}

/** A signal that aborts with the first of two. */
export function either(one: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other === undefined ? one : AbortSignal.any([one, other]);
}
