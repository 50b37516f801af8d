import type { Limit } from "../limits/limit.ts";
import type { Algorithm, AlgorithmDefinition, SlotAlgorithm, Traits } from "./algorithm.ts";
import { type AlgorithmName, algorithms } from "./registry.ts";

export const algorithmNames: readonly AlgorithmName[] = Object.values(algorithms).map(({ name }) => name);

export function isAlgorithmName(value: unknown): value is AlgorithmName {
  return typeof value === "string" && Object.hasOwn(algorithms, value);
}

/** The names of the algorithms whose units come back with time: all that are not releasable. */
export type RateAlgorithmName = Exclude<AlgorithmName, AlgorithmWith<"releasable">>;

export const rateAlgorithms: readonly AlgorithmDefinition<RateAlgorithmName>[] = Object.values(algorithms).flatMap(
  (definition) => ("evaluate" in definition ? definition : []),
);

const byName: Readonly<Partial<Record<AlgorithmName, Algorithm>>> = Object.fromEntries(
  rateAlgorithms.map((algorithm) => [algorithm.name, algorithm]),
);

/** The algorithm that decides under a limit. */
export function algorithmOf(limit: Limit): Algorithm {
  const algorithm = byName[limit.algorithm];
  if (algorithm === undefined) throw new Error(`${limit.algorithm} has no rows`);
  if (limit.calendar !== undefined && algorithm.calendar !== undefined) return algorithm.calendar;
  return limit.coarse ? (algorithm.coarse ?? algorithm) : algorithm;
}

/**
 * What shared stores keep the rows of a limit under, next to the counter: another algorithm, or another calendar, finds
 * no row that it would misread.
 */
export function rowsNameOf({ algorithm, calendar }: Limit): string {
  return calendar === undefined ? algorithm : `${algorithm}-${calendar.id}`;
}

const slotsByName: Readonly<Partial<Record<AlgorithmName, SlotAlgorithm>>> = Object.fromEntries(
  Object.values(algorithms).flatMap((definition) =>
    "evaluateSlots" in definition ? [[definition.name, definition]] : [],
  ),
);

/** The algorithm that decides about slots under a limit; undefined if the limit is not releasable. */
export function slotAlgorithmOf(limit: Limit): SlotAlgorithm | undefined {
  return slotsByName[limit.algorithm];
}

export function traitsOf(limit: Limit): Traits {
  return algorithms[limit.algorithm].traits;
}

/** The names of the algorithms with a trait. */
export type AlgorithmWith<Trait extends keyof Traits> = {
  [Name in AlgorithmName]: (typeof algorithms)[Name]["traits"] extends { readonly [T in Trait]: true } ? Name : never;
}[AlgorithmName];
