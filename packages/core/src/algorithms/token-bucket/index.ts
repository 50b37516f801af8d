import type { Algorithm } from "../algorithm.ts";
import { meter } from "../meter.ts";

/** Starts full, refills at the limit's rate up to the burst; what is left is shown with its fraction. */
export const tokenBucket: Algorithm = meter("token_bucket", (units) => units);
