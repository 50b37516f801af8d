import { type ErrorCode, HeadgateError, shown } from "./errors.ts";

/** Options with all defaults filled in. Passing `undefined` is the same as leaving an option out. */
export type Complete<Options> = { [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/** The options that are not `undefined`, for spreading over defaults. */
export function stated<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}

/**
 * Throws if `options` is not an object or has unknown names, because a misspelt option would otherwise be ignored. `at`
 * is the prefix of the name in the message.
 */
export function requireOptions(
  options: unknown,
  known: ReadonlySet<string>,
  { code = "HG_BAD_OPTION", at = "options." }: { readonly code?: ErrorCode; readonly at?: string } = {},
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
