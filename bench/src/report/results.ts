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
export interface Ranking {
  readonly workload: Workload;
  readonly results: readonly Result[];
  readonly bestPeer: Result | undefined;
  /** Plain Headgate if it took part, otherwise its best wrapper. */
  readonly headgate: Result | undefined;
}

export function rankings(workloads: readonly Workload[], samples: Samples): Ranking[] {
  const results = workloads.flatMap(({ name, unit }) =>
    [...samples.of(name)].map(([subject, values]) => ({
      workload: name,
      subject,
      unit,
      ...rounded(summarize(values)),
    })),
  );
  return rankingsOf(workloads, results);
}

/** The rankings of figures in any order. Workloads without figures are left out. */
export function rankingsOf(workloads: readonly Workload[], results: readonly Result[]): Ranking[] {
  return workloads
    .map((workload) =>
      ranking(
        workload,
        results.filter((result) => result.workload === workload.name),
      ),
    )
    .filter(({ results }) => results.length > 0);
}

function ranking(workload: Workload, figures: readonly Result[]): Ranking {
  const results = [...figures].sort((a, b) => (workload.better === "more" ? b.median - a.median : a.median - b.median));
  return {
    workload,
    results,
    bestPeer: results.find(({ subject }) => isPeer(subject)),
    headgate: results.find(({ subject }) => subject === HEADGATE) ?? results.find(({ subject }) => isHeadgate(subject)),
  };
}

/** Ratio to the best peer: above 1 is better, whether more or less is better. */
export function ratio({ workload, bestPeer }: Ranking, result: Result): number | undefined {
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
