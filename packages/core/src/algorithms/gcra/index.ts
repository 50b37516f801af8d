import type { Algorithm } from "../algorithm.ts";
import { meter } from "../meter.ts";

/**
 * The generic cell rate algorithm. Its theoretical arrival time is `latest + used × window / limit`:
 * kept as the pair, it stays exact, survives a change of the limit, and decides as the token bucket does.
 */
export const gcra: Algorithm = meter("gcra", Math.floor);
