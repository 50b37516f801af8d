import { type Limit, makeLimit } from "../../limits/limit.ts";
import type { Rate } from "../../limits/rate.ts";
import type { AlgorithmDefinition } from "../algorithm.ts";
import { type BurstOptions, burstField, meter } from "../meter.ts";
import { buildLimit } from "../stated-limit.ts";

const name = "leaky_bucket";

/**
 * Starts empty, drains at the limit's rate, and never overflows. As a meter it decides like a token bucket; as a
 * shaper, its decision says how long to delay the request (`Decision.delayMs`). It cannot be leased, because its units
 * have a place in the queue.
 */
export const definition: AlgorithmDefinition<typeof name, { burst: true; queue: true }, typeof burstField> = {
  ...meter((units) => units),
  name,
  fields: burstField,
  traits: { burst: true, queue: true },
  build: leakyBucket,
  limitFrom: ({ limit, window, value, named }) =>
    makeLimit({ algorithm: name, limit, window, burst: value("burst") }, named),
};

/**
 * A leaky bucket: drains at the rate. Decisions report how long to delay a request so that traffic leaves evenly; see
 * `wait` and `schedule`.
 */
export function leakyBucket(rate: Rate, options: BurstOptions = {}): Limit<typeof name> {
  return buildLimit(definition, rate, options);
}
