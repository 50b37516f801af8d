import { z } from "zod";

const units = z.int().min(0);

const deniedSketch = z.object({
  keys: z.array(z.object({ identifier: z.string(), denied: units, error: units })),
  others: units,
});

/** The keys of one dimension that one node denied most in one hour. */
export interface DeniedSketch {
  /** The true number is between `denied - error` and `denied`. */
  readonly keys: readonly { readonly identifier: string; readonly denied: number; readonly error: number }[];
  /** Maximum denials of a key that is not in `keys`. */
  readonly others: number;
}

/** The report of one node about one hour. */
export interface DeniedReport {
  readonly user: DeniedSketch;
  readonly ip: DeniedSketch;
  readonly apikey: DeniedSketch;
}

const deniedReport = z.object({ user: deniedSketch, ip: deniedSketch, apikey: deniedSketch });

/** Parses the report of a node; undefined if this version cannot read it. */
export function readReport(text: string): DeniedReport | undefined {
  try {
    return deniedReport.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/**
 * Adds up sketches. A key that is missing from one may still have been denied there up to `others` times, so that
 * number is added to its count and its error.
 */
export function mergeSketches(sketches: readonly DeniedSketch[]): DeniedSketch["keys"] {
  const unseen = sketches.reduce((sum, { others }) => sum + others, 0);
  const byKey = new Map<string, { identifier: string; denied: number; error: number }>();
  for (const { keys, others } of sketches) {
    for (const { identifier, denied, error } of keys) {
      let sum = byKey.get(identifier);
      if (sum === undefined) {
        sum = { identifier, denied: unseen, error: unseen };
        byKey.set(identifier, sum);
      }
      sum.denied += denied - others;
      sum.error += error - others;
    }
  }
  return [...byKey.values()];
}
