import { BARE_GCRA, contestants, MAP_GET } from "../subjects/registry.ts";
import { type Experiment, HEADGATE, type Suite, type Workload } from "../suite.ts";

function speed(name: string, about: string): Workload {
  return { name, unit: "M checks/s", better: "more", about };
}

function experiment(workload: string): Experiment {
  return { name: workload, workloads: [workload], subjects: contestants };
}

/** The others take longer to insert a million keys than a quick run has time. */
const FASTEST = [HEADGATE, "fast-ratelimit", "hono-rate-limiter", "@fastify/rate-limit", MAP_GET, BARE_GCRA];

export const memory: Suite = {
  name: "memory",
  title: "Speed in memory",
  about: "checks per second in one process, beside seven peers and two floors",
  reading: [
    "Every limiter allows 1,000,000,000 checks in 10 minutes, so that nothing is denied but in `hot-deny`. Headgate " +
      "runs GCRA and returns a whole decision, of which the loop reads `allowed`, as most callers do; what it costs to " +
      "keep each one whole is in `hot-kept`. Most peers count in fixed windows and answer with a number, a boolean or a promise; those that can only be " +
      "awaited are awaited.",
    "All keys are inserted before the clock starts, in key order. With so generous a limit a key's quota is full " +
      "again at once, and Headgate soon forgets such a key: in `1m-zipf` it therefore forgets rare keys and finds room " +
      "for them anew, where most peers just keep them.",
    `\`${MAP_GET}\` decides nothing: it is what finding a key in a \`Map\` costs. \`${BARE_GCRA}\` adds the arithmetic, ` +
      "reads the clock once in 64 checks, and answers a boolean: no expiry, no checks of its input, no decision.",
    "@nestjs/throttler keeps the time of every hit and walks through all of them at each check, so its figure for one " +
      "hot key falls the longer it runs.",
  ],
  workloads: [
    speed("hot", "One key again and again, the same string, always allowed."),
    speed("hot-deny", "One key again and again, over its limit of 10: every check is a denial."),
    speed("100k", "100,000 keys, each as likely as any other."),
    speed("1m-zipf", "1,000,000 keys by Zipf's law with exponent 1, ranks scattered."),
    speed("fresh", "100,000 keys, the string made anew from bytes for each check, as when it comes off a socket."),
    speed("100k-batch", "As `100k`, 64 keys to a call of `checkManySync`; to be compared with Headgate's own `100k`."),
    speed("hot-kept", "As `hot`, with each whole decision kept; to be compared with Headgate's own `hot`."),
  ],
  experiments: [
    experiment("hot"),
    experiment("hot-deny"),
    experiment("100k"),
    { ...experiment("1m-zipf"), quickSubjects: FASTEST },
    experiment("fresh"),
    { ...experiment("100k-batch"), subjects: [HEADGATE] },
    { ...experiment("hot-kept"), subjects: [HEADGATE] },
  ],
  full: { rounds: 3, timedMs: 500, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 3, timedMs: 150, lifetimeMs: 0, stopAfterMs: 30_000 },
  measure: async (task) => (await import("./speed.ts")).measureSpeed(task),
};
