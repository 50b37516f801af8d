import { type ErrorCode, HeadgateError, shown } from "./errors.ts";

/** Options with all defaults filled in. Passing `undefined` is the same as leaving an option out. */
export type Complete<Options> = { [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/** Throws unless the value of a field will do. */
export type Requirement = (value: unknown, field: string) => void;

/** What each option must be. The compiler names an option that is missing here. */
export type Requirements<Options> = { readonly [Name in keyof Options]-?: Requirement };

/** A longer `setTimeout` fires immediately. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Place {
  readonly code?: ErrorCode;
  /** Prefix of the names in messages, such as `breaker.` for nested options. */
  readonly at?: string;
}

/**
 * Validates options: each name is known, because a misspelt option would otherwise be ignored, and each value meets its
 * requirement. Returns the options, for destructuring with defaults.
 */
export function readOptions<Options extends object>(
  options: Options,
  requirements: Requirements<Options>,
  place: Place = {},
): Options {
  requireOptions(options, new Set(Object.keys(requirements)), place);
  for (const name in requirements) {
    const value = options[name];
    if (value !== undefined) requirements[name](value, `${place.at ?? ""}${name}`);
  }
  return options;
}

/** Requires a value that `accepts` returns true for; `expected` completes "must be" in the message. */
export function must(expected: string, accepts: (value: unknown) => boolean): Requirement {
  return (value, field) => {
    if (!accepts(value)) throw new HeadgateError("HG_BAD_OPTION", field, `must be ${expected}, got ${shown(value)}`);
  };
}

export const trueOrFalse = must("true or false", (value) => typeof value === "boolean");
export const aFunction = must("a function", (value) => typeof value === "function");
export const aName = must("a string that is not empty", (value) => typeof value === "string" && value !== "");

/** For options that are read elsewhere. */
export const anything: Requirement = () => {};

export function wholeNumber(least: number, most?: number, unit = ""): Requirement {
  const range = most === undefined ? `of at least ${least}` : `from ${least} to ${most}`;
  return must(
    `a whole number ${unit}${range}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= (most ?? Number(value)),
  );
}

export function milliseconds(least: number, most = LONGEST_TIMER_MS): Requirement {
  return must(
    `a number of milliseconds from ${least} to ${most}`,
    (value) => typeof value === "number" && value >= least && value <= most,
  );
}

export function wholeMilliseconds(least: number, most = LONGEST_TIMER_MS): Requirement {
  return wholeNumber(least, most, "of milliseconds ");
}

/** One of several strings: `"local", "allow" or "deny"`. */
export function oneOf(...values: readonly string[]): Requirement {
  const quoted = values.map((value) => JSON.stringify(value));
  const expected = `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
  return must(expected, (value) => values.some((known) => known === value));
}

/** The options that are not `undefined`, for spreading over defaults. */
export function stated<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}

/** Throws if `options` is not an object or has unknown names. */
export function requireOptions(
  options: unknown,
  known: ReadonlySet<string>,
  { code = "HG_BAD_OPTION", at = "options." }: Place = {},
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new HeadgateError(code, "options", `must be an object${knownText(known)}, got ${shown(options)}`);
  }
  for (const name in options) {
    if (!known.has(name)) {
      throw new HeadgateError(code, `${at}${name}`, `is unknown${knownText(known)}`);
    }
  }
}

function knownText(known: ReadonlySet<string>): string {
  return known.size === 0 ? " (there are no options)" : ` (known: ${[...known].join(", ")})`;
}
