import { HeadgateError, shown } from "../../errors.ts";
import { type Limit, makeLimit } from "../../limits/limit.ts";
import type { Rate } from "../../limits/rate.ts";
import type { AlgorithmDefinition } from "../algorithm.ts";
import { queue } from "../queue.ts";
import { buildLimit, type Fields } from "../stated-limit.ts";

const name = "bucketed_window";

const fields = {
  bucket_width: {
    type: "seconds",
    about: "Length of a bucket in seconds. Default: a tenth of the window, at most 0.1",
  },
  exact: { type: "boolean", about: "Whether to count to the microsecond. Default: false" },
} as const satisfies Fields;

/** In microseconds. */
const DEFAULT_WINDOW = 1_000_000;
const DEFAULT_WIDTH = 100_000;

/** Options of `bucketedWindow`. */
export interface BucketedWindowOptions {
  /** Width of a bucket in milliseconds. Default: 100, or a tenth of a window shorter than a second. */
  readonly bucketWidthMs?: number | undefined;
  /**
   * Store the exact time of each request: nothing is admitted early, but each admitted request takes memory. Default:
   * false.
   */
  readonly exact?: boolean | undefined;
}

/**
 * Counts admitted units in buckets. The oldest bucket is dropped as a whole when the start of the window reaches it, so
 * a request may be admitted up to one bucket width early. In exact mode, buckets are one microsecond wide, and it
 * decides like the log.
 */
export const definition: AlgorithmDefinition<typeof name, object, typeof fields> = {
  ...queue,
  name,
  fields,
  traits: {},
  build: bucketedWindow,

  limitFrom(stated) {
    const { limit, window = DEFAULT_WINDOW, named } = stated;
    const width = stated.duration("bucket_width");
    const exact = stated.value("exact");
    if (exact !== undefined && typeof exact !== "boolean") {
      throw new HeadgateError("HG_BAD_LIMIT", named("exact"), `must be true or false, got ${shown(exact)}`);
    }
    if (width !== undefined && width > window) {
      throw new HeadgateError("HG_BAD_LIMIT", named("bucket_width"), "must not be longer than the window");
    }
    const ordinary = width ?? Math.max(1, Math.min(DEFAULT_WIDTH, Math.round(window / 10)));
    return makeLimit({ algorithm: name, limit, window, bucketWidth: exact ? 1 : ordinary }, named);
  },
};

/** A sliding window counted in buckets: bounded memory, but requests may be admitted up to one bucket width early. */
export function bucketedWindow(rate: Rate, options: BucketedWindowOptions = {}): Limit<typeof name> {
  return buildLimit(definition, rate, options);
}
