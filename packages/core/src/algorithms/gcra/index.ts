import { type Limit, makeLimit } from "../../limits/limit.ts";
import type { Rate } from "../../limits/rate.ts";
import type { AlgorithmDefinition } from "../algorithm.ts";
import { type BurstOptions, burstField, meter } from "../meter.ts";
import { buildLimit } from "../stated-limit.ts";

const name = "gcra";

/**
 * The generic cell rate algorithm. Its theoretical arrival time is `latest + used × window / limit`. Stored as a pair,
 * it stays exact, survives a change of the limit, and decides like the token bucket.
 */
export const definition: AlgorithmDefinition<typeof name, { burst: true; leasable: true }, typeof burstField> = {
  ...meter(Math.floor),
  name,
  fields: burstField,
  traits: { burst: true, leasable: true },
  build: gcra,
  limitFrom: ({ limit, window, value, named }) =>
    makeLimit({ algorithm: name, limit, window, burst: value("burst") }, named),
};

/** GCRA: decides like `tokenBucket` and reports `remaining` in whole units. */
export function gcra(rate: Rate, options: BurstOptions = {}): Limit<typeof name> {
  return buildLimit(definition, rate, options);
}
