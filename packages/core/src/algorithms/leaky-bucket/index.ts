import type { Algorithm } from "../algorithm.ts";
import { meter } from "../meter.ts";

/**
 * Starts empty, drains at the limit's rate, never overflows. As a meter it decides like a token
 * bucket; as a shaper, its decision says how long the request stands in the queue (`Decision.delayMs`).
 */
export const leakyBucket: Algorithm = meter("leaky_bucket", (units) => units);
