import type { Algorithm } from "../algorithm.ts";
import { queue } from "../queue.ts";

/** Keeps the time of every admitted unit: never more than the limit in any window. */
export const slidingWindowLog: Algorithm = { ...queue, name: "sliding_window_log" };
