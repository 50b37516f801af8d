import { HeadgateError, shown } from "../errors.ts";

/** One check among several. */
export interface Check<Name extends string = string> {
  readonly rule: Name;
  readonly key: string;
  /** Default 1. */
  readonly cost?: number;
}

export interface CheckOptions {
  /** How many units the request takes (default 1): a whole number; 0 asks without taking. */
  readonly cost?: number;
}

export function requireKey(key: unknown): asserts key is string {
  if (typeof key !== "string") {
    throw new HeadgateError("HG_BAD_KEY", "key", `must be a string that says who is asking, got ${shown(key)}`);
  }
}

/** Being a safe integer is what keeps NaN, fractions, strings and numbers over 2^53 out. */
export function requireCost(cost: unknown): asserts cost is number {
  if (typeof cost !== "number" || !Number.isSafeInteger(cost) || cost < 0) {
    throw new HeadgateError("HG_BAD_COST", "cost", `must be a whole number from 0 to 2^53 - 1, got ${shown(cost)}`);
  }
}

/** Two charges to one quota in one request would each be judged without the other. */
export function requireDistinct(checks: readonly Check[]): void {
  if (checks.length === 0) {
    throw new HeadgateError("HG_BAD_CHECKS", "checks", "must have at least one check");
  }
  const seen = new Set<string>();
  for (const [i, { rule, key }] of checks.entries()) {
    const id = JSON.stringify([rule, key]);
    if (seen.has(id)) {
      throw new HeadgateError(
        "HG_BAD_CHECKS",
        `checks[${i}]`,
        `repeats rule ${shown(rule)} and key ${shown(key)}: give one check with the summed cost`,
      );
    }
    seen.add(id);
  }
}

export function costOf(cost: unknown): number {
  if (cost === undefined) return 1;
  requireCost(cost);
  return cost;
}
