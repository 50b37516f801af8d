import { type Limit, makeLimit } from "../../limits/limit.ts";
import type { Rate } from "../../limits/rate.ts";
import type { AlgorithmDefinition } from "../algorithm.ts";
import { queue } from "../queue.ts";
import { buildLimit, type NoFields } from "../stated-limit.ts";

const name = "sliding_window_log";

/** Stores the time of every admitted unit: never more than the limit in any window. */
export const definition: AlgorithmDefinition<typeof name, object, NoFields> = {
  ...queue,
  name,
  fields: {},
  traits: {},
  build: slidingWindowLog,
  limitFrom: ({ limit, window, named }) => makeLimit({ algorithm: name, limit, window }, named),
};

/**
 * A sliding window log: never admits more than the limit in any window, but stores the time of each admitted request.
 */
export function slidingWindowLog(rate: Rate, options: Record<string, never> = {}): Limit<typeof name> {
  return buildLimit(definition, rate, options);
}
