import { algorithmNames, isAlgorithmName } from "../algorithms/lookup.ts";
import { type AlgorithmName, algorithms } from "../algorithms/registry.ts";
import { statedBySpec } from "../algorithms/stated-limit.ts";
import { HeadgateError, shown } from "../errors.ts";
import type { Limit } from "./limit.ts";

/**
 * Creates a limit from configuration: snake_case fields, durations in seconds. The algorithm defaults to
 * `token_bucket`. `at` is the path of the limit in the configuration, for error messages.
 */
export function limitFromSpec(spec: unknown, at = ""): Limit {
  if (typeof spec !== "object" || spec === null || Array.isArray(spec)) {
    throw new HeadgateError("HG_BAD_LIMIT", at === "" ? "limit" : at, `must be an object, got ${shown(spec)}`);
  }
  const { algorithm, ...fields } = spec as { readonly algorithm?: unknown };
  const path = at === "" ? "" : `${at}.`;
  const definition = algorithms[readAlgorithm(algorithm, path)];
  const known = [
    ...(definition.traits.releasable ? ["limit"] : ["limit", "window"]),
    ...Object.keys(definition.fields),
  ];
  for (const name of Object.keys(fields)) {
    if (!known.includes(name)) {
      throw new HeadgateError(
        "HG_BAD_LIMIT",
        `${path}${name}`,
        `is not a field of ${definition.name} (known: ${known.join(", ")})`,
      );
    }
  }
  return definition.limitFrom(statedBySpec(new Map<string, unknown>(Object.entries(fields)), path));
}

function readAlgorithm(value: unknown, path: string): AlgorithmName {
  if (value === undefined) return algorithmNames[0];
  if (isAlgorithmName(value)) return value;
  throw new HeadgateError(
    "HG_BAD_LIMIT",
    `${path}algorithm`,
    `must be one of ${algorithmNames.join(", ")}, got ${shown(value)}`,
  );
}
