import type { Clock } from "../clock/clock.ts";
import { HeadgateError, shown } from "../errors.ts";
import { isCost } from "../limiter/check-options.ts";
import { after, type Eventually } from "../limiter/maybe-promise.ts";
import type { Limit } from "../limits/limit.ts";
import { requireOptions } from "../options.ts";
import type { AddressOptions } from "./address/client-address.ts";
import type { HeaderForm } from "./headers/response-headers.ts";
import type { WarnOptions } from "./headers/usage-state.ts";
import type { By } from "./identity.ts";
import type { Notice } from "./notices.ts";
import type { RefundOn } from "./refund-on.ts";

/** How much a request takes: a whole number, or a function of the request that says it. */
export type Cost<Request> = number | ((request: Request) => Eventually<number>);

/** One limit of a gate, with what differs from the gate's own options. */
export interface GateLimit<Name extends string, Request> {
  readonly rule: Name;
  /** Default: that of the gate. */
  readonly by?: By<Request> | undefined;
  /** Default: that of the gate. */
  readonly cost?: Cost<Request> | undefined;
  /** Instead of `cost`: an estimate, until `settle` tells the real cost. Given back if the request fails before any of a response is sent. */
  readonly reserve?: Cost<Request> | undefined;
}

export interface GateOptions<Name extends string, Request> extends AddressOptions {
  /** The limits of each request; charged to all of them or, if any refuses, to none. */
  readonly rules: Name | GateLimit<Name, Request> | readonly (Name | GateLimit<Name, Request>)[];
  /** By whom requests are counted. Default `ip`. */
  readonly by?: By<Request> | undefined;
  /** Default 1. */
  readonly cost?: Cost<Request> | undefined;
  /** Requests that are not limited, nor counted. */
  readonly skip?: ((request: Request) => Eventually<boolean>) | undefined;
  /** How limits are told. Default `draft`; false tells nothing but `Retry-After`. */
  readonly headers?: HeaderForm | readonly HeaderForm[] | false | undefined;
  /** When to warn by the header `Headgate-State`. Default: over 80 % used, until below 70 %; false for never. */
  readonly warn?: WarnOptions | false | undefined;
  /** When a request is given back what it was charged. Default: never. */
  readonly refundOn?: RefundOn | undefined;
  /** How long a reservation outlives a process that dies, in milliseconds. Default 60,000. For stores that outlive it themselves. */
  readonly reserveForMs?: number | undefined;
  /** What holds if the store fails and does not say so itself: pass unlimited (the default, with a notice), or refuse with 503. */
  readonly onStoreFailure?: "allow" | "deny" | undefined;
  /** Hears of each kind of trouble once. Default: a warning of the process. */
  readonly onNotice?: ((notice: Notice) => void) | undefined;
  /** Where the time of headers and warnings comes from. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

/** What a gate is given: its options, with those of the framework's `Own`, or just the names of its rules. */
export type Asked<Name extends string, Request, Own extends object = object> =
  | Name
  | readonly Name[]
  | (GateOptions<Name, Request> & Own);

const OPTIONS = [
  "rules",
  "by",
  "cost",
  "skip",
  "headers",
  "warn",
  "refundOn",
  "reserveForMs",
  "onStoreFailure",
  "onNotice",
  "clock",
  "proxies",
  "forwardedHeader",
  "ipv6Prefix",
] as const satisfies readonly (keyof GateOptions<string, unknown>)[];

const LIMIT_OPTIONS: ReadonlySet<string> = new Set(["rule", "by", "cost", "reserve"]);

/** The options of a gate. Refuses those that are not known here nor, being named in `more`, to the framework. */
export function requireGateOptions<Name extends string, Request, Own extends object>(
  asked: Asked<Name, Request, Own>,
  more: readonly string[],
): GateOptions<Name, Request> & Partial<Own> {
  const options = typeof asked === "string" || Array.isArray(asked) ? { rules: asked } : asked;
  requireOptions(options, new Set<string>([...OPTIONS, ...more]));
  return options as GateOptions<Name, Request> & Partial<Own>;
}

/** The limits of a gate, one or more, each of another rule. */
export function requireLimits<Name extends string, Request>(
  rules: GateOptions<Name, Request>["rules"],
): readonly GateLimit<Name, Request>[] {
  const list: readonly unknown[] = Array.isArray(rules) ? rules : [rules];
  if (list.length === 0) throw new HeadgateError("HG_BAD_OPTION", "rules", "must name at least one rule");
  const limits = list.map((limit, i): GateLimit<Name, Request> => {
    const at = Array.isArray(rules) ? `rules[${i}]` : "rules";
    if (typeof limit === "string") return { rule: limit as Name };
    if (typeof limit !== "object" || limit === null || !("rule" in limit)) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        at,
        `must be the name of a rule or { rule, by, cost }, got ${shown(limit)}`,
      );
    }
    requireOptions(limit, LIMIT_OPTIONS, { at: `${at}.` });
    const { cost, reserve } = limit as GateLimit<Name, Request>;
    if (cost !== undefined && reserve !== undefined) {
      throw new HeadgateError("HG_BAD_OPTION", `${at}.reserve`, "stands in the place of cost: give one of them");
    }
    return limit as GateLimit<Name, Request>;
  });
  const names = limits.map(({ rule }) => rule);
  const repeated = names.findIndex((name, i) => names.indexOf(name) < i);
  if (repeated !== -1) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      `rules[${repeated}]`,
      `repeats the rule ${shown(names[repeated])}: what is counted by another key needs a rule of its own`,
    );
  }
  return limits;
}

/** Reads a cost, which may be a function. What that says is looked at, too: where it says nothing, that is no 1. */
export function requireCostOf<Request>(cost: Cost<Request>, field: string): (request: Request) => Eventually<number> {
  if (typeof cost === "function") {
    const requireSaid = (said: number): number => {
      if (isCost(said)) return said;
      throw new HeadgateError(
        "HG_BAD_COST",
        field,
        `must be a function that says a whole number from 0 to 2^53 - 1, it said ${shown(said)}`,
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

/** Refuses what a limit never has room for: all requests would be refused. */
export function requireAttainable(cost: unknown, { burst }: Limit, rule: string, field: string): void {
  if (typeof cost === "number" && cost > burst) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      field,
      `must be at most ${burst}, which is all that the rule ${shown(rule)} holds, got ${cost}: no request would pass`,
    );
  }
}

const SHORTEST_HOLD_MS = 1_000;
const LONGEST_HOLD_MS = 600_000;

export function requireHoldMs(ms: unknown): asserts ms is number {
  if (typeof ms !== "number" || !(ms >= SHORTEST_HOLD_MS && ms <= LONGEST_HOLD_MS)) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "reserveForMs",
      `must be a number of milliseconds from ${SHORTEST_HOLD_MS} to ${LONGEST_HOLD_MS}, got ${shown(ms)}`,
    );
  }
}

/** A function, if given. */
export function requireFunction(value: unknown, field: string): void {
  if (value !== undefined && typeof value !== "function") {
    throw new HeadgateError("HG_BAD_OPTION", field, `must be a function, got ${shown(value)}`);
  }
}
