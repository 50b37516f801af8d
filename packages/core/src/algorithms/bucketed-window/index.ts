import type { Algorithm } from "../algorithm.ts";
import { queue } from "../queue.ts";

/**
 * Counts admitted units in buckets. The oldest bucket is dropped whole as soon as the start of the
 * window enters it, so a request may pass up to one bucket's width early; exact mode has buckets of
 * one microsecond, and decides as the log does.
 */
export const bucketedWindow: Algorithm = { ...queue, name: "bucketed_window" };
