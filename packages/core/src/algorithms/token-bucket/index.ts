import { HeadgateError } from "../../errors.ts";
import { type Limit, makeCapacityLimit, makeLimit } from "../../limits/limit.ts";
import type { Rate } from "../../limits/rate.ts";
import type { AlgorithmDefinition } from "../algorithm.ts";
import { type BurstOptions, burstField, meter } from "../meter.ts";
import { buildLimit, type Fields } from "../stated-limit.ts";

const name = "token_bucket";

const fields = {
  ...burstField,
  capacity: { type: "number", about: "Units that can be used at once", replacesRate: true },
  refill_rate: { type: "number", about: "Units that flow back each second", replacesRate: true },
} as const satisfies Fields;

/** Starts full and refills at the limit's rate up to the burst. Reports fractions of units. */
export const definition: AlgorithmDefinition<typeof name, { burst: true; leasable: true }, typeof fields> = {
  ...meter((units) => units),
  name,
  fields,
  traits: { burst: true, leasable: true },
  build: tokenBucket,

  limitFrom(stated) {
    const { limit, window, named } = stated;
    const reject = (field: string, problem: string): never => {
      throw new HeadgateError("HG_BAD_LIMIT", named(field), problem);
    };
    if (!stated.has("limit") && window === undefined) {
      if (stated.has("burst")) reject("burst", "is used with limit and window, not with capacity");
      return makeCapacityLimit(name, stated.value("capacity"), stated.value("refill_rate"), named);
    }
    for (const field of ["capacity", "refill_rate"]) {
      if (stated.has(field)) reject(field, "cannot be combined with limit and window");
    }
    return makeLimit({ algorithm: name, limit, window, burst: stated.value("burst") }, named);
  },
};

/** A token bucket: refills at the rate and allows bursts. The first choice for an API. */
export function tokenBucket(rate: Rate, options: BurstOptions = {}): Limit<typeof name> {
  return buildLimit(definition, rate, options);
}
