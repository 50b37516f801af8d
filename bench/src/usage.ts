import { suites } from "./suites.ts";

export function usage(): string {
  const width = Math.max(...suites.map(({ name }) => name.length));
  return [
    "npm run -s bench -- <suite> [--quick] [--json]",
    "npm run bench -- --write [suite…]  every suite, or these, on Node 24 and 26, into docs/internals/benchmarks.md",
    "npm run -s bench -- accuracy       over-admission and outages, into docs/internals/accuracy.md",
    "",
    "Suites:",
    ...suites.flatMap(({ name, about, workloads, absent = [] }) => [
      `  ${name.padEnd(width)}  ${about}`,
      ...(workloads.length === 0 ? [] : [`workloads: ${workloads.map((workload) => workload.name).join(", ")}`])
        .concat(absent)
        .map((line) => `  ${" ".repeat(width)}  ${line}`),
    ]),
    "",
    "  --quick            a first look, in less than a minute",
    "  --json             one array of {workload, subject, unit, median, min, max} and nothing else",
    "  --workload <name>  only this workload; can be repeated",
    "  --subject <name>   only this subject; can be repeated",
    "  --rounds <n>       how many rounds",
    "  --node <version>   with --write: another version of Node; can be repeated",
    "  --seconds <s>      how long to time each subject in a round",
  ].join("\n");
}
