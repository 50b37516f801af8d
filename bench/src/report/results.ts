import type { Samples } from "../run/samples.ts";
import { HEADGATE, isHeadgate, isPeer, type Workload } from "../suite.ts";
import { type Summary, summarize } from "./statistics.ts";

/** One figure in the format of `--json`. */
export interface Result extends Summary {
  readonly workload: string;
  readonly subject: string;
  readonly unit: string;
}

/** The subjects of one workload, best first, compared with the best peer. */
export interface Standing {
  readonly workload: Workload;
  readonly results: readonly Result[];
  readonly bestPeer: Result | undefined;
  /** Plain Headgate if it took part, otherwise its best wrapper. */
  readonly headgate: Result | undefined;
}

export function standings(workloads: readonly Workload[], samples: Samples): Standing[] {
  return workloads.map((workload) => standing(workload, samples)).filter(({ results }) => results.length > 0);
}

function standing(workload: Workload, samples: Samples): Standing {
  const { name, unit, better } = workload;
  const results = [...samples.of(name)]
    .map(([subject, values]) => ({ workload: name, subject, unit, ...rounded(summarize(values)) }))
    .sort((a, b) => (better === "more" ? b.median - a.median : a.median - b.median));
  return {
    workload,
    results,
    bestPeer: results.find(({ subject }) => isPeer(subject)),
    headgate: results.find(({ subject }) => subject === HEADGATE) ?? results.find(({ subject }) => isHeadgate(subject)),
  };
}

/** Ratio to the best peer: above 1 is better, whether more or less is better. */
export function ratio({ workload, bestPeer }: Standing, result: Result): number | undefined {
  if (bestPeer === undefined) return undefined;
  return workload.better === "more" ? result.median / bestPeer.median : bestPeer.median / result.median;
}

/** No measurement here is accurate to more than four digits. */
function rounded({ median, min, max }: Summary): Summary {
  return { median: digits(median), min: digits(min), max: digits(max) };
}

function digits(value: number): number {
  return Number(value.toPrecision(4));
}
