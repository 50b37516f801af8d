import { HeadgateError, shown } from "../errors.ts";
import type { Limit } from "../limits/limit.ts";
import { requireOptions } from "../options.ts";
import { type CostOptions, isCost, type NoOptions, requireCost, requireKnown } from "./check-options.ts";

/** One of several checks. */
export interface Check<Name extends string = string> {
  /** Name of the rule. */
  readonly rule: Name;
  /** Whose quota is charged. */
  readonly key: string;
  /** Units that the request costs. Default 1. */
  readonly cost?: number | undefined;
  /** Limit for this check instead of the rule's. Only `limit` and `burst` may differ. */
  readonly limit?: Limit | undefined;
}

/** Arguments of `checkMany`: many keys under one rule, or any checks. */
export type Batch<Name extends string> =
  | KeyBatch<Name>
  | [checks: readonly Check<Name>[], options?: NoOptions | undefined];

type KeyBatch<Name extends string> = [rule: Name, keys: readonly string[], options?: CostOptions | undefined];

/** Whether a batch consists of keys, all of them strings. */
export function isKeyBatch<Name extends string>(batch: Batch<Name>): batch is KeyBatch<Name> {
  if (typeof batch[0] === "string") {
    requireKeys(batch[1]);
    if (batch[2] !== undefined) requireKnown(batch[2], "keys");
    return true;
  }
  if (batch[1] !== undefined) requireKnown(batch[1], "checks");
  return false;
}

const CHECK_FIELDS: ReadonlySet<string> = new Set(["rule", "key", "cost", "limit"]);

export function requireKey(key: unknown, field = "key"): asserts key is string {
  if (typeof key !== "string") {
    throw new HeadgateError("HG_BAD_KEY", field, `must be a string that identifies the client, got ${shown(key)}`);
  }
}

function requireKeys(keys: unknown): asserts keys is readonly string[] {
  if (!Array.isArray(keys)) {
    throw new HeadgateError("HG_BAD_CHECKS", "keys", `must be an array of strings, got ${shown(keys)}`);
  }
  for (let i = 0; i < keys.length; i += 1) if (typeof keys[i] !== "string") requireKey(keys[i], `keys[${i}]`);
}

/** Validates each entry of a batch before any is charged. */
export function requireChecks(checks: readonly Check[]): void {
  if (!Array.isArray(checks)) {
    throw new HeadgateError("HG_BAD_CHECKS", "checks", `must be an array of { rule, key, cost }, got ${shown(checks)}`);
  }
  for (let i = 0; i < checks.length; i += 1) {
    const check: unknown = checks[i];
    if (typeof check !== "object" || check === null) {
      throw new HeadgateError("HG_BAD_CHECKS", `checks[${i}]`, `must be like { rule, key, cost }, got ${shown(check)}`);
    }
    const { key, cost = 1 } = checks[i];
    for (const name in check) if (!CHECK_FIELDS.has(name)) requireOptions(check, CHECK_FIELDS, { at: `checks[${i}].` });
    if (typeof key !== "string") requireKey(key, `checks[${i}].key`);
    if (!isCost(cost)) requireCost(cost, `checks[${i}].cost`);
  }
}

/** A store decides all of them in one step, which blocks others meanwhile. */
const MOST_TOGETHER = 256;

/** Rejects two charges to one quota in one request, because each would be decided without the other. */
export function requireDistinct(checks: readonly Check[], onRepetition = "use one check with the summed cost"): void {
  if (checks.length === 0) {
    throw new HeadgateError("HG_BAD_CHECKS", "checks", "must have at least one check");
  }
  if (checks.length > MOST_TOGETHER) {
    const problem = `must be at most ${MOST_TOGETHER} checks per request, got ${checks.length}`;
    throw new HeadgateError("HG_BAD_CHECKS", "checks", problem);
  }
  for (let i = 1; i < checks.length; i += 1) {
    const { rule, key } = checks[i];
    if (checks.findIndex((other) => other.rule === rule && other.key === key) < i) {
      throw new HeadgateError(
        "HG_BAD_CHECKS",
        `checks[${i}]`,
        `repeats rule ${shown(rule)} and key ${shown(key)}: ${onRepetition}`,
      );
    }
  }
}
