import { HEADGATE, type Suite } from "../suite.ts";

export const workers: Suite = {
  name: "workers",
  title: "Workers",
  about: "how much more a node with two workers can serve than one process, with counters in memory",
  reading: [
    "Capacity is the number of checks divided by the CPU time of the busiest worker, because that one is the first to " +
      "have no time left; the load generator runs on the same cores, and its own CPU time is left out. The ratio " +
      "compares this with the checks per CPU second of a node without `--workers`, loaded in turns in the same run.",
    "Checks are as in `rest`: half of them are for keys that the other worker counts.",
  ],
  workloads: [
    {
      name: "workers-rest",
      unit: "× one process",
      better: "more",
      about: "REST checks of `headgate serve --workers 2`; 2 would be perfect.",
    },
  ],
  headlines: ["workers-rest"],
  experiments: [{ name: "workers-rest", workloads: ["workers-rest"], subjects: [HEADGATE] }],
  full: { rounds: 5, timedMs: 6_000, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 2_000, lifetimeMs: 0, stopAfterMs: 0 },
  measure: async (task) => (await import("./workers-measure.ts")).measureWorkers(task),
};
