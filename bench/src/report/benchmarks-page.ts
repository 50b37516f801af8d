import type { Suite } from "../suite.ts";
import { markdown } from "./markdown.ts";
import type { MeasuredSuite, MeasuredSuites } from "./measured-suites.ts";
import { rankingsOf } from "./results.ts";

/** The lines of `machine` that may differ between suites. */
const PER_SUITE: readonly string[] = ["Date", "Node", "Load before the run"];

/** docs/internals/benchmarks.md, from what was measured of each suite last. */
export function benchmarksPage(suites: readonly Suite[], measuredSuites: MeasuredSuites): string {
  const known = suites.flatMap((suite) => {
    const last = measuredSuites[suite.name];
    return last === undefined ? [] : [{ suite, last }];
  });
  return markdown({
    machine: unique(known.flatMap(({ last }) => last.machine.filter(([name]) => !PER_SUITE.includes(name)))),
    versions: unique(known.flatMap(({ last }) => last.versions)),
    sections: known.map(({ suite, last }) => ({
      suite,
      note: noteOf(last),
      measured: last.measured.map(({ version, results }) => ({
        version,
        rankings: rankingsOf(suite.workloads, results),
      })),
    })),
  });
}

function noteOf({ quick, machine }: MeasuredSuite): string {
  const { Date: date, Node: node, "Load before the run": load } = Object.fromEntries(machine);
  const rounds = quick ? ", in one short round (`--quick`)" : "";
  return `Measured on ${date} with Node ${node}${rounds}; load before the run: ${load}.`;
}

/** Pairs in their first order, each once. Suites that were measured at different times may differ in a version. */
function unique(pairs: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  return [...new Map(pairs.map((pair) => [pair.join(" "), pair])).values()];
}
