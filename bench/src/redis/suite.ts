import { HEADGATE, type Suite } from "../suite.ts";
import { workloadsOf } from "./readings.ts";
import { CACHED, FLEXIBLE, FLEXIBLE_BLOCKING, RATE_LIMIT_REDIS, RESILIENT } from "./subjects/registry.ts";
import { type Traffic, traffics } from "./traffics.ts";

/** Who can take part in it: several limits at once, and denials from memory, are not for everybody. */
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
  about: "checks per second in one process against one Redis, how long they take, and what they cost on either side",
  reading: [
    "Every limiter allows 1,000,000 checks a minute for each of 100,000 keys at random, so that nothing is denied but in " +
      "`denied`. All keys are inserted before the clock starts. Headgate runs GCRA, the peers count in fixed windows; " +
      "with so generous a limit a key of Headgate's is full again at once and Redis lets go of it, where a counter of " +
      "the peers stays.",
    "A check is awaited by a caller that then asks again, and as many callers as the workload says do so. How long it " +
      "took is as that caller sees it, with everything in it. Processor time is that of the whole process, garbage " +
      "collection and all; Redis's is its own count.",
    "rate-limiter-flexible holds a check against several limits with `RateLimiterUnion`, a round trip for each limit.",
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
