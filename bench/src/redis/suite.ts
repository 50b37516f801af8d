import { HEADGATE, type Suite } from "../suite.ts";
import { workloadsOf } from "./readings.ts";
import { CACHED, FLEXIBLE, FLEXIBLE_BLOCKING, RATE_LIMIT_REDIS, RESILIENT } from "./subjects/registry.ts";
import { type Traffic, traffics } from "./traffics.ts";

/** The subjects that support the traffic: not all have several limits per check, or local denials. */
function subjectsOf({ limits, denied }: Traffic): readonly string[] {
  if (denied) return [CACHED, FLEXIBLE, FLEXIBLE_BLOCKING];
  if (limits !== undefined) return [HEADGATE, FLEXIBLE];
  return [HEADGATE, RESILIENT, FLEXIBLE, RATE_LIMIT_REDIS];
}

/** With the other peers a quick run would not be quick: each takes seconds to insert its keys. */
const QUICK: readonly string[] = [HEADGATE, CACHED, RATE_LIMIT_REDIS, FLEXIBLE_BLOCKING];

const entries = Object.entries(traffics);

export const redis: Suite = {
  name: "redis",
  title: "Redis",
  about: "checks per second of one process with one Redis, their latency, and the processor time on both sides",
  reading: [
    "Every limiter allows 1,000,000 checks a minute for each of 100,000 random keys, so nothing is denied " +
      "except in `denied`. All keys are inserted before the measurement starts. Headgate runs GCRA, the peers " +
      "count in fixed windows. With such a generous limit, a key of Headgate is full again at once and " +
      "expires, while the counters of the peers remain.",
    "Each caller awaits a check before it makes the next; the workload states the number of callers. " +
      "Latency is measured by the caller and includes everything. Processor time is that of the whole " +
      "process, including garbage collection; Redis reports its own.",
    "rate-limiter-flexible checks several limits with `RateLimiterUnion`, one round trip per limit.",
  ],
  workloads: entries.flatMap(([name, { about, readings }]) => workloadsOf(name, about, readings)),
  experiments: entries.map(([name, traffic]) => ({
    name,
    workloads: workloadsOf(name, traffic.about, traffic.readings).map((workload) => workload.name),
    subjects: subjectsOf(traffic),
    quickSubjects: subjectsOf(traffic).filter((subject) => QUICK.includes(subject)),
  })),
  full: { rounds: 5, timedMs: 1_500, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 500, lifetimeMs: 0, stopAfterMs: 0 },
  open: async () => (await import("./server.ts")).startServer(),
  measure: async (task) => (await import("./measure.ts")).measureShared(task),
};
