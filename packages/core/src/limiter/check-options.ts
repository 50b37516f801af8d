import { HeadgateError, shown } from "../errors.ts";
import { differingShape, isLimit, type Limit } from "../limits/limit.ts";
import { requireOptions } from "../options.ts";
import type { Action, ApplyOptions, Rule } from "../stores/store.ts";
import { IDEMPOTENCY_KEY_FORM, isIdempotencyKey } from "./idempotency-key.ts";

/** Options of `peek`. */
export interface CostOptions {
  /** Units that the request costs: a whole number, 1 by default. A request of cost 0 is checked but takes nothing. */
  readonly cost?: number | undefined;
  /**
   * Limit for this call instead of the rule's, such as a tenant's own. Only `limit` and `burst` may differ from the
   * rule's limit. What the key has used counts under both.
   */
  readonly limit?: Limit | undefined;
}

/** Options of `checkAll` and `firstOf`. */
export interface CheckAllOptions {
  /**
   * Makes the request safe to retry: for five minutes, the same request with the same idempotency key receives the same
   * decision and is charged once. 1 to 255 printable ASCII characters without spaces, such as `crypto.randomUUID()`.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Options of `check`, `refund` and `penalize`. */
export interface CheckOptions extends CostOptions, CheckAllOptions {}

/** No options. Unknown options are rejected rather than ignored. */
export type NoOptions = Readonly<Record<string, never>>;

/** What a limiter does with single checks. */
export type CheckAction = Exclude<Action, "takeFirst" | "charge" | "settle" | "extend" | "release">;

/** The kinds of calls: actions on one key, several rules together, many keys or independent checks, waiting. */
type Asking = CheckAction | "together" | "keys" | "checks" | "wait" | "schedule";

const NONE: ReadonlySet<string> = new Set();
const COST: ReadonlySet<string> = new Set(["cost", "limit"]);
const COST_AND_KEY: ReadonlySet<string> = new Set(["cost", "limit", "idempotencyKey"]);

const KNOWN: Readonly<Record<Asking, ReadonlySet<string>>> = {
  take: COST_AND_KEY,
  refund: COST_AND_KEY,
  penalize: COST_AND_KEY,
  peek: COST,
  reset: NONE,
  together: new Set(["idempotencyKey"]),
  keys: COST,
  checks: NONE,
  wait: new Set(["cost", "limit", "signal", "maxWaitMs"]),
  schedule: new Set(["cost", "limit", "signal", "maxWaitMs", "whenFull"]),
};

const APART = "is not accepted by checkMany, whose requests are independent: use check for each of them";

const UNTIL_ADMITTED = "is not accepted by wait and schedule, which would receive the first denial again: use check";

/** Why the other calls do not accept an idempotency key, and what to do instead. */
const WITHOUT_KEY: Readonly<Partial<Record<Asking, string>>> = {
  peek: "is not accepted by peek, which charges nothing: leave it out",
  reset: "is not accepted by reset, which can be repeated safely: leave it out",
  keys: APART,
  checks: APART,
  wait: UNTIL_ADMITTED,
  schedule: UNTIL_ADMITTED,
};

/** What a request asks for: the cost, the limit if it is not the rule's, and the options for the store. */
export interface Asked {
  readonly cost: number;
  readonly limit: Limit | undefined;
  readonly once: ApplyOptions | undefined;
}

const PLAIN: Asked = { cost: 1, limit: undefined, once: undefined };

export function askedIn(action: CheckAction, options: CheckOptions | undefined): Asked {
  if (options === undefined) return PLAIN;
  requireKnown(options, action);
  return { cost: costIn(options), limit: options.limit, once: onceIn(options) };
}

/** The cost in the options of a check. */
export function costIn(options: CheckOptions | undefined): number {
  if (options === undefined) return 1;
  requireOptions(options, COST_AND_KEY);
  const { cost = 1 } = options;
  requireCost(cost);
  return cost;
}

/** The store's options for a request that may be repeated. */
export function onceIn({ idempotencyKey }: CheckAllOptions): ApplyOptions | undefined {
  if (idempotencyKey === undefined) return undefined;
  if (!isIdempotencyKey(idempotencyKey)) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "idempotencyKey",
      `must be ${IDEMPOTENCY_KEY_FORM}, got ${shown(idempotencyKey)}`,
    );
  }
  return { idempotencyKey };
}

/** Rejects options that this kind of call does not have. */
export function requireKnown(options: unknown, asking: Asking): void {
  const why = WITHOUT_KEY[asking];
  if (why !== undefined && Object.hasOwn(Object(options), "idempotencyKey")) {
    throw new HeadgateError("HG_BAD_OPTION", "idempotencyKey", why);
  }
  requireOptions(options, KNOWN[asking]);
}

export function requireCost(cost: unknown, field = "cost"): asserts cost is number {
  if (!isCost(cost)) {
    throw new HeadgateError("HG_BAD_COST", field, `must be a whole number from 0 to 2^53 - 1, got ${shown(cost)}`);
  }
}

/** Checking for a safe integer rejects NaN, fractions, strings and numbers above 2^53. */
export function isCost(cost: unknown): cost is number {
  return typeof cost === "number" && Number.isSafeInteger(cost) && cost >= 0;
}

/** Rejects a limit of a call that cannot share the rule's counter. */
export function requireOwnLimit(limit: unknown, rule: Rule, at = ""): asserts limit is Limit {
  const field = `${at}limit`;
  if (!isLimit(limit)) {
    throw new HeadgateError("HG_BAD_LIMIT", field, `must be a limit such as tokenBucket("100/m"), got ${shown(limit)}`);
  }
  const name = differingShape(limit, rule.limit);
  if (name === undefined) return;
  throw new HeadgateError(
    "HG_BAD_LIMIT",
    field,
    `must have the ${name} of rule ${rule.name} (${rule.limit[name]}), got ${limit[name]}: only limit and burst may differ`,
  );
}
