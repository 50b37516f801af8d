import type { AlgorithmWith } from "../algorithms/lookup.ts";
import { HeadgateError, shown } from "../errors.ts";
import { isLimit, type Limit } from "../limits/limit.ts";
import type { Rule } from "../stores/store.ts";

/** The limits of a limiter by rule name. */
export type Rules = Readonly<Record<string, Limit>>;

/** The names of the rules of a limiter. */
export type RuleName<R extends Rules> = keyof R & string;

/** The names of the rules that can be used with `schedule`: those with a leaky bucket. */
export type QueueName<R extends Rules> = {
  [Name in RuleName<R>]: R[Name]["algorithm"] extends AlgorithmWith<"queue"> ? Name : never;
}[RuleName<R>] &
  RuleName<R>;

export function readRules<Name extends string>(rules: Readonly<Record<Name, Limit>>): Map<Name, Rule<Name>> {
  if (typeof rules !== "object" || rules === null || Array.isArray(rules) || Object.keys(rules).length === 0) {
    throw new HeadgateError(
      "HG_BAD_RULES",
      "rules",
      `must name at least one limit, as in { api: tokenBucket("100/m") }${Array.isArray(rules) ? ", got an array" : ""}`,
    );
  }
  const names = Object.keys(rules) as Name[];
  return new Map(names.map((name) => [name, makeRule(name, rules[name])]));
}

export function makeRule<Name extends string>(name: Name, limit: Limit): Rule<Name> {
  if (!isLimit(limit)) {
    throw new HeadgateError(
      "HG_BAD_RULES",
      `rules.${name}`,
      `must be a limit such as tokenBucket("100/m") or limitFromSpec({ … }), got ${shown(limit)}`,
    );
  }
  return Object.freeze({ name, limit });
}

/** Number of names to list in an error message. */
const MOST_NAMES = 10;

export function unknownRule(
  name: unknown,
  known: Iterable<string>,
  field = "rule",
  owner = "this limiter",
): HeadgateError {
  const names = [...known];
  const listed = names.slice(0, MOST_NAMES).join(", ");
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  return new HeadgateError("HG_UNKNOWN_RULE", field, `${owner} has no rule ${shown(name)} (it has ${listed}${more})`);
}
