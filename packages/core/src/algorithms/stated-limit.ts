import { HeadgateError, shown } from "../errors.ts";
import type { CalendarUnit } from "../limits/calendar.ts";
import { type Limit, microseconds } from "../limits/limit.ts";
import { parseRate, type Rate } from "../limits/rate.ts";
import { requireOptions } from "../options.ts";
import type { AlgorithmDefinition } from "./algorithm.ts";
import type { AlgorithmName } from "./registry.ts";

/** A field of a specification. */
export interface Field {
  /** A list of words, or a type. Options have milliseconds instead of seconds, and a name that ends in `Ms`. */
  readonly type: "units" | "number" | "seconds" | "boolean" | "text" | "day" | readonly string[];
  readonly about: string;
  /** Whether it is stated instead of `limit` and `window`. Builders, which take a rate, do not have it as an option. */
  readonly replacesRate?: true;
  /** Whether it is stated instead of `window`. Builders do not have it as an option either. */
  readonly replacesWindow?: true;
}

/** Fields by their names in a specification. */
export type Fields = Readonly<Record<string, Field>>;
export type NoFields = Readonly<Record<never, Field>>;

/** A limit as it was stated: the values have not been checked. */
export interface StatedLimit {
  readonly limit: unknown;
  /** In microseconds; undefined if it was not stated. */
  readonly window: number | undefined;
  /** The calendar that a rate may follow: always if it has no window, otherwise in a time zone. */
  readonly rateCalendar?: CalendarUnit | undefined;
  has(field: string): boolean;
  value(field: string): unknown;
  /** The value of a field of type `seconds`, in microseconds. */
  duration(field: string): number | undefined;
  /** A field as the user wrote it, for error messages. */
  named(field: string): string;
}

const SECOND = 1_000_000;
const MILLISECOND = 1_000;

/** A limit in a file or a request; `path` is what precedes the name of a field in error messages. */
export function statedBySpec(spec: ReadonlyMap<string, unknown>, path: string): StatedLimit {
  const named = (field: string): string => `${path}${field}`;
  const duration = (field: string): number | undefined =>
    spec.has(field) ? microseconds(spec.get(field), SECOND, named(field)) : undefined;
  return {
    limit: spec.get("limit"),
    window: duration("window"),
    has: (field) => spec.has(field),
    value: (field) => spec.get(field),
    duration,
    named,
  };
}

/** Makes the limit that a builder was called for. */
export function buildLimit<Name extends AlgorithmName>(
  definition: AlgorithmDefinition<Name>,
  rate: Rate,
  options: object,
): Limit<Name> {
  const names = new Map(Object.entries(definition.fields).flatMap(optionName));
  requireOptions(options, new Set(names.values()), { code: "HG_BAD_LIMIT", at: "" });
  const named = (field: string): string => names.get(field) ?? field;
  const value = (field: string): unknown => Reflect.get(options, named(field));
  const { limit, window, calendar } = parseRate(rate);
  if (window === undefined && !("time_zone" in definition.fields)) {
    throw new HeadgateError(
      "HG_BAD_RATE",
      "rate",
      `must have a window of fixed length, because only fixedWindow follows the calendar: write 30d for a month, or 365d for a year; got ${shown(rate)}`,
    );
  }
  return definition.limitFrom({
    limit,
    window,
    rateCalendar: calendar,
    has: (field) => value(field) !== undefined,
    value,
    duration: (field) =>
      value(field) === undefined ? undefined : microseconds(value(field), MILLISECOND, named(field)),
    named,
  });
}

function optionName([name, { type, replacesRate, replacesWindow }]: [string, Field]): readonly [string, string][] {
  if (replacesRate || replacesWindow) return [];
  const option = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return [[name, type === "seconds" ? `${option}Ms` : option]];
}
