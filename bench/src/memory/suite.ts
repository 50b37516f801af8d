import { BARE_GCRA, contestants, MAP_GET } from "../subjects/registry.ts";
import { type Experiment, HEADGATE, type Suite, type Workload } from "../suite.ts";

function speed(name: string, about: string): Workload {
  return { name, unit: "M checks/s", better: "more", about };
}

function experiment(workload: string): Experiment {
  return { name: workload, workloads: [workload], subjects: contestants };
}

/** The others would take too long to insert a million keys in a quick run. */
const FASTEST = [HEADGATE, "fast-ratelimit", "hono-rate-limiter", "@fastify/rate-limit", MAP_GET, BARE_GCRA];

export const memory: Suite = {
  name: "memory",
  title: "Speed in memory",
  about: "checks per second in one process, compared with seven peers and two floors",
  reading: [
    "Every limiter allows 1,000,000,000 checks in 10 minutes, so nothing is denied except in `hot-deny`. " +
      "Headgate runs GCRA and returns a complete decision, of which the loop reads `allowed`, as most callers " +
      "do; `hot-kept` measures what it costs to keep every decision. Most peers count in fixed windows and " +
      "return a number, a boolean or a promise, which is awaited.",
    "All keys are inserted before the measurement starts, in key order. With such a generous limit, the " +
      "quota of a key is full again at once, and Headgate soon forgets the key. In `1m-zipf` it therefore " +
      "removes and reinserts rare keys, while most peers keep them.",
    `\`${MAP_GET}\` decides nothing: it shows what finding a key in a \`Map\` costs. \`${BARE_GCRA}\` adds the ` +
      "arithmetic, reads the clock once in 64 checks, and returns a boolean: no expiry, no validation, no " +
      "decision.",
    "Headgate looks up a key by a 64-bit hash with a secret. This takes 51 bytes per key, and attackers cannot " +
      "construct keys that collide, but the string is hashed at each check, while V8 caches the hash that a `Map` uses. " +
      "Keeping the rows in 64 `Map`s instead took 108 bytes per key, and 1.4 to 1.7 times the CPU time in `100k` and " +
      "1.2 to 1.7 times in `1m-zipf`.",
    "@nestjs/throttler stores the time of every hit and scans all of them at each check, so its result for " +
      "one hot key gets worse the longer it runs.",
  ],
  workloads: [
    speed("hot", "A single key, always the same string, always allowed."),
    speed("hot-deny", "A single key over its limit of 10: every check is denied."),
    speed("100k", "100,000 keys, uniformly distributed."),
    speed("1m-zipf", "1,000,000 keys, distributed by Zipf's law with exponent 1, in scattered order."),
    speed("fresh", "100,000 keys, each string created from bytes for every check, as when it is read from a socket."),
    speed("100k-batch", "As `100k`, with 64 keys per call of `checkManySync`. Compare with Headgate's own `100k`."),
    speed("hot-kept", "As `hot`, keeping every decision. Compare with Headgate's own `hot`."),
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
