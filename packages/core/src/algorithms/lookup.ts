import type { Limit } from "../limits/limit.ts";
import type { Algorithm, Traits } from "./algorithm.ts";
import { type AlgorithmName, algorithms } from "./registry.ts";

export const algorithmNames: readonly AlgorithmName[] = Object.values(algorithms).map(({ name }) => name);

export function isAlgorithmName(value: unknown): value is AlgorithmName {
  return typeof value === "string" && Object.hasOwn(algorithms, value);
}

/** The algorithm that decides under a limit. */
export function algorithmOf(limit: Limit): Algorithm {
  const algorithm: Algorithm = algorithms[limit.algorithm];
  return limit.coarse ? (algorithm.coarse ?? algorithm) : algorithm;
}

export function traitsOf(limit: Limit): Traits {
  return algorithms[limit.algorithm].traits;
}

/** The names of the algorithms with a trait. */
export type AlgorithmWith<Trait extends keyof Traits> = {
  [Name in AlgorithmName]: (typeof algorithms)[Name]["traits"] extends { readonly [T in Trait]: true } ? Name : never;
}[AlgorithmName];
