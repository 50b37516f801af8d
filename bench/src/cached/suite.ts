import { HEADGATE, type Suite } from "../suite.ts";
import { traffics } from "./traffics.ts";

const CACHED = `${HEADGATE}-cached`;
/** With `confirm: false`. */
export const UNCONFIRMED = `${HEADGATE}-cached-unconfirmed`;

export const cached: Suite = {
  name: "cached",
  title: "Several processes over one Redis, cached",
  about: "how far several processes exceed a limit that they share, and the latency of a check",
  reading: [
    `\`${CACHED}\` lets Redis decide on keys that a process does not know or that are near their limit; ` +
      `\`${UNCONFIRMED}\` decides everything in the process (\`confirm: false\`); \`${HEADGATE}\` asks Redis every ` +
      "time and never exceeds the limit.",
    "All processes share the processor cores with Redis. Times are wall-clock times, and latencies are " +
      "those of the worst process.",
  ],
  workloads: traffics.flatMap(({ name, about }) => [
    { name: `${name}-over`, unit: "%", better: "less" as const, about: `${about} Units admitted above the limits.` },
    {
      name: `${name}-p50`,
      unit: "µs",
      better: "less" as const,
      about: `${about} Median latency.`,
    },
    { name: `${name}-p99`, unit: "µs", better: "less" as const, about: `${about} 99th percentile of the latency.` },
  ]),
  experiments: traffics.map(({ name }) => ({
    name,
    workloads: [`${name}-over`, `${name}-p50`, `${name}-p99`],
    subjects: [CACHED, UNCONFIRMED, HEADGATE],
  })),
  full: { rounds: 5, timedMs: 0, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 0, lifetimeMs: 0, stopAfterMs: 0 },
  open: async () => ({ ...(await (await import("../redis/server.ts")).startServer()), launcher: [], notes: [] }),
  measure: async (task) => (await import("./measure.ts")).measureOverAdmission(task),
};
