import { MAP_GET } from "../subjects/registry.ts";
import { type Experiment, HEADGATE, type Suite, type Workload } from "../suite.ts";

function lookup(name: string, rules: string): Workload {
  return { name, unit: "M lookups/s", better: "more", about: `Which limits apply to a path, among ${rules} rules.` };
}

function experiment(name: string): Experiment {
  return { name, workloads: [name], subjects: [HEADGATE, MAP_GET] };
}

export const rules: Suite = {
  name: "rules",
  title: "Finding the rules of a path",
  about: "lookups per second among ten, a thousand and a hundred thousand rules, and how long those take to be read",
  reading: [
    "Each third of the rules is for exact paths, for paths with a parameter, and for all that is below a path; one is " +
      "for all paths. Whatever their number, three of them match each path that is looked up, and all three are found. " +
      "Paths are drawn from 4,096 of as many services as there are rules for. What is lost with the number is the " +
      "processor's cache: a hundred thousand rules do not fit into it.",
    `\`${MAP_GET}\` finds one value for the whole path in a \`Map\` of as many: no patterns, and no list of limits.`,
  ],
  workloads: [
    lookup("rules-10", "10"),
    lookup("rules-1k", "1,000"),
    lookup("rules-100k", "100,000"),
    { name: "read-100k", unit: "ms", better: "less", about: "From 100,000 rules to a catalogue that can be asked." },
  ],
  experiments: [
    experiment("rules-10"),
    experiment("rules-1k"),
    experiment("rules-100k"),
    { ...experiment("read-100k"), subjects: [HEADGATE] },
  ],
  full: { rounds: 3, timedMs: 500, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 3, timedMs: 150, lifetimeMs: 0, stopAfterMs: 30_000 },
  measure: async (task) => {
    const { measureLookup, measureReading } = await import("./lookup.ts");
    return task.experiment === "read-100k" ? measureReading() : measureLookup(task);
  },
};
