import { traitsOf } from "../algorithms/lookup.ts";
import { type Clock, requireClock } from "../clock/clock.ts";
import { HeadgateError, shown } from "../errors.ts";
import { isCost } from "../limiter/check-options.ts";
import { after, type MaybePromise } from "../limiter/maybe-promise.ts";
import type { WarnOptions } from "../limiter/usage-states.ts";
import type { Limit } from "../limits/limit.ts";
import {
  aFunction,
  anything,
  milliseconds,
  oneOf,
  type Requirements,
  readOptions,
  requireOptions,
} from "../options.ts";
import { type AddressOptions, addressRequirements } from "./address/client-address.ts";
import type { HeaderForm } from "./headers/response-headers.ts";
import type { By } from "./identity.ts";
import type { Notice } from "./notices.ts";
import type { RefundOn } from "./refund-on.ts";

/** Units that a request costs: a whole number, or a function of the request that returns one. */
export type Cost<Request> = number | ((request: Request) => MaybePromise<number>);

/** A rule of the middleware, with options of its own. */
export interface MiddlewareRule<Name extends string, Request> {
  /** Name of the rule. */
  readonly rule: Name;
  /** Whose quota is charged. Default: the option `by` of the middleware. */
  readonly by?: By<Request> | undefined;
  /** Units that a request costs. Default: the option `cost` of the middleware. */
  readonly cost?: Cost<Request> | undefined;
  /**
   * An estimate that is charged instead of `cost`, until `settle` replaces it with the real cost. Refunded if the request
   * fails before any of the response is sent.
   */
  readonly reserve?: Cost<Request> | undefined;
}

/** One or several rules of a middleware. */
type GivenRules<Name extends string, Request> =
  | Name
  | MiddlewareRule<Name, Request>
  | readonly (Name | MiddlewareRule<Name, Request>)[];

/** Options of every middleware. */
export interface MiddlewareOptions<Name extends string, Request> extends AddressOptions {
  /** The rules for each request. If one of them denies it, none is charged. Required unless `concurrency` is set. */
  readonly rules?: GivenRules<Name, Request> | undefined;
  /**
   * Rules with concurrency limits, decided together with `rules`. A request holds a slot of each until its response has
   * ended or its client has disconnected.
   */
  readonly concurrency?: GivenRules<Name, Request> | undefined;
  /** Whose quota is charged. Default `"ip"`. */
  readonly by?: By<Request> | undefined;
  /** Units that a request costs. Default 1. */
  readonly cost?: Cost<Request> | undefined;
  /** Requests for which this returns true are neither limited nor counted. */
  readonly skip?: ((request: Request) => MaybePromise<boolean>) | undefined;
  /** Format of the rate limit headers. Default `"draft"`; with false, only `Retry-After` is sent. */
  readonly headers?: HeaderForm | readonly HeaderForm[] | false | undefined;
  /** When to send the `Headgate-State` header. Default: above 80 % usage, until it is below 70 %. With false, never. */
  readonly warn?: WarnOptions | false | undefined;
  /** Responses after which the charge is refunded. Default: never. */
  readonly refundOn?: RefundOn | undefined;
  /** How long a reservation remains if its process dies, in milliseconds, from 1,000 to 600,000. Default 60,000. */
  readonly reserveForMs?: number | undefined;
  /**
   * What to do when the store fails and is not wrapped in `resilient`: let requests pass unlimited (`"allow"`, the
   * default, with a warning), or deny them with 503.
   */
  readonly onStoreFailure?: "allow" | "deny" | undefined;
  /** Receives each kind of warning once. Default: a process warning. */
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Clock for reservations. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** Arguments of a middleware: its options, or just the names of its rules. */
export type RulesOrOptions<Name extends string, Request, Own extends object = object> =
  | Name
  | readonly Name[]
  | (MiddlewareOptions<Name, Request> & Own);

const REQUIREMENTS: Requirements<MiddlewareOptions<string, unknown>> = {
  ...addressRequirements,
  rules: anything,
  concurrency: anything,
  by: anything,
  cost: anything,
  skip: aFunction,
  headers: anything,
  warn: anything,
  refundOn: anything,
  reserveForMs: milliseconds(1_000, 600_000),
  onStoreFailure: oneOf("allow", "deny"),
  onNotice: aFunction,
  clock: requireClock,
};

const LIMIT_OPTIONS: ReadonlySet<string> = new Set(["rule", "by", "cost", "reserve"]);

/** Validates the options of a middleware. `more` names the functions that the framework adds. */
export function requireMiddlewareOptions<Name extends string, Request, Own extends object>(
  given: RulesOrOptions<Name, Request, Own>,
  more: readonly string[],
): MiddlewareOptions<Name, Request> & Partial<Own> {
  const options = typeof given === "string" || Array.isArray(given) ? { rules: given } : given;
  readOptions<object>(options, { ...Object.fromEntries(more.map((name) => [name, aFunction])), ...REQUIREMENTS });
  return options as MiddlewareOptions<Name, Request> & Partial<Own>;
}

/** Validates the rules of a middleware: at least one, each once, and concurrency limits apart from the others. */
export function requireLimits<Name extends string, Request>(
  rules: GivenRules<Name, Request> | undefined,
  concurrency: GivenRules<Name, Request> | undefined,
  limitOf: (rule: Name) => Limit,
): readonly MiddlewareRule<Name, Request>[] {
  const [rates, slots] = [readRules(rules, "rules"), readRules(concurrency, "concurrency")];
  if (rates.length + slots.length === 0) {
    throw new HeadgateError("HG_BAD_OPTION", "rules", "must name at least one rule");
  }
  for (const { rule, at } of rates) {
    if (!traitsOf(limitOf(rule)).releasable) continue;
    throw new HeadgateError("HG_NEEDS_SLOT", at, `${rule} limits concurrent requests: pass it as concurrency`);
  }
  for (const { rule, at, reserve } of slots) {
    if (reserve !== undefined)
      throw new HeadgateError("HG_BAD_OPTION", `${at}.reserve`, "is not supported for concurrency limits");
    if (traitsOf(limitOf(rule)).releasable) continue;
    const problem = `${rule} is not a concurrency limit: define it with concurrency(n), or pass it as rules`;
    throw new HeadgateError("HG_NOT_CONCURRENT", at, problem);
  }
  const all = [...rates, ...slots];
  const names = all.map(({ rule }) => rule);
  const repeated = names.findIndex((name, i) => names.indexOf(name) < i);
  if (repeated !== -1) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      all[repeated].at,
      `repeats the rule ${shown(names[repeated])}: define another rule to count by another key`,
    );
  }
  return all;
}

type ReadRule<Name extends string, Request> = MiddlewareRule<Name, Request> & { readonly at: string };

/** The rules of an option, each with its place in it. */
function readRules<Name extends string, Request>(
  rules: GivenRules<Name, Request> | undefined,
  option: string,
): readonly ReadRule<Name, Request>[] {
  if (rules === undefined) return [];
  const list: readonly unknown[] = Array.isArray(rules) ? rules : [rules];
  return list.map((limit, i) => {
    const at = Array.isArray(rules) ? `${option}[${i}]` : option;
    if (typeof limit === "string") return { rule: limit as Name, at };
    if (typeof limit !== "object" || limit === null || !("rule" in limit)) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        at,
        `must be the name of a rule or { rule, by, cost }, got ${shown(limit)}`,
      );
    }
    requireOptions(limit, LIMIT_OPTIONS, { at: `${at}.` });
    const { cost, reserve } = limit as MiddlewareRule<Name, Request>;
    if (cost !== undefined && reserve !== undefined) {
      throw new HeadgateError("HG_BAD_OPTION", `${at}.reserve`, "cannot be combined with cost");
    }
    return { ...(limit as MiddlewareRule<Name, Request>), at };
  });
}

/** Reads a cost or a function that returns one. The result of the function is validated too: undefined is not 1. */
export function requireCostOf<Request>(cost: Cost<Request>, field: string): (request: Request) => MaybePromise<number> {
  if (typeof cost === "function") {
    const requireSaid = (said: number): number => {
      if (isCost(said)) return said;
      throw new HeadgateError(
        "HG_BAD_COST",
        field,
        `must be a function that returns a whole number from 0 to 2^53 - 1, but it returned ${shown(said)}`,
      );
    };
    return (request) => after(cost(request), requireSaid);
  }
  if (!isCost(cost)) {
    throw new HeadgateError(
      "HG_BAD_COST",
      field,
      `must be a whole number from 0 to 2^53 - 1, or a function, got ${shown(cost)}`,
    );
  }
  return () => cost;
}

/** Rejects a cost above the capacity of the limit, because every request would be denied. */
export function requireAttainable(cost: unknown, { burst }: Limit, rule: string, field: string): void {
  if (typeof cost === "number" && cost > burst) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      field,
      `must be at most ${burst}, which is all that the rule ${shown(rule)} holds, got ${cost}: no request would pass`,
    );
  }
}
