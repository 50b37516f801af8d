import { MAP_GET } from "../subjects/registry.ts";
import { type Experiment, HEADGATE, type Suite, type Workload } from "../suite.ts";

function lookup(name: string, rules: string): Workload {
  return { name, unit: "M lookups/s", better: "more", about: `Which limits apply to a path, among ${rules} rules.` };
}

function experiment(name: string): Experiment {
  return { name, workloads: [name], subjects: [HEADGATE, MAP_GET] };
}

const SIZES = { "1k": "1,000", "10k": "10,000", "100k": "100,000" } as const;
type Size = keyof typeof SIZES;

function pause(name: string, during: string): Workload {
  return { name, unit: "ms of pause", better: "less", about: `The longest pause of a node, while ${during}.` };
}

function pauses(size: Size): readonly [replace: Workload, reread: Workload, reload: Workload] {
  const count = SIZES[size];
  return [
    pause(`replace-${size}`, `${count} rules are all replaced through REST`),
    pause(`reread-${size}`, `it reads ${count} rules of which another process has changed one`),
    pause(`reload-${size}`, `it reads a file of ${count} rules that have all changed`),
  ];
}

function stalls(size: Size): Experiment[] {
  const [replace, reread, reload] = pauses(size);
  return [
    { name: `database-${size}`, workloads: [replace.name, reread.name], subjects: [HEADGATE] },
    { name: `file-${size}`, workloads: [reload.name], subjects: [HEADGATE] },
  ];
}

const ALL_SIZES = Object.keys(SIZES) as Size[];

export const rules: Suite = {
  name: "rules",
  title: "Finding the rules of a path",
  about:
    "lookups per second among 10, 1,000 and 100,000 rules, the time to load them, and the longest pause of " +
    "a node while they change",
  reading: [
    "One third of the rules match exact paths, one third paths with a parameter, and one third everything " +
      "below a path; one rule matches all paths. Whatever their number, three rules match each path that is " +
      "looked up, and all three are found. Paths are drawn from 4,096 of as many services as there are rules. " +
      "More rules are slower only because 100,000 of them do not fit into the processor's cache.",
    `\`${MAP_GET}\` finds one value for the whole path in a \`Map\` of the same size: no patterns, and no list ` +
      "of limits.",
    "A pause is the longest time between two ticks of a 1 ms timer, minus the time in which the thread was " +
      "ready to run but another one had its processor. The node is a separate process, with its rules in " +
      "SQLite or in a YAML file.",
  ],
  workloads: [
    lookup("rules-10", "10"),
    lookup("rules-1k", "1,000"),
    lookup("rules-100k", "100,000"),
    { name: "read-100k", unit: "ms", better: "less", about: "Time to build the lookup table of 100,000 rules." },
    ...ALL_SIZES.flatMap(pauses),
  ],
  experiments: [
    experiment("rules-10"),
    experiment("rules-1k"),
    experiment("rules-100k"),
    { ...experiment("read-100k"), subjects: [HEADGATE] },
    ...ALL_SIZES.flatMap(stalls),
  ],
  full: { rounds: 3, timedMs: 500, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 3, timedMs: 150, lifetimeMs: 0, stopAfterMs: 30_000 },
  measure: async (task) => {
    if (/^(database|file)-/.test(task.experiment)) return (await import("./stalls.ts")).measureStalls(task);
    const { measureLookup, measureReading } = await import("./lookup.ts");
    return task.experiment === "read-100k" ? measureReading() : measureLookup(task);
  },
};
