import { contestants, NO_LIMITER } from "../subjects/registry.ts";
import { HEADGATE, type Suite } from "../suite.ts";

const COMING: readonly string[] = [...contestants, NO_LIMITER];
/** Left out of quick runs: a million keys take them as long as all others together. */
const HEAVY: readonly string[] = ["@nestjs/throttler", "rate-limiter-flexible", "limiter"];
/** Without `limiter`, `@fastify/rate-limit` and the floors, which never remove keys on their own. */
const FORGETTING: readonly string[] = [
  HEADGATE,
  "fast-ratelimit",
  "hono-rate-limiter",
  "express-rate-limit",
  "rate-limiter-flexible",
  "@nestjs/throttler",
  NO_LIMITER,
];

export const keys: Suite = {
  name: "keys",
  title: "A million keys: memory and pauses",
  about: "bytes per key, and the longest pause of the event loop while a million keys arrive and expire",
  reading: [
    "Every limiter allows one check per window, so that each keeps a key for one window after its only " +
      "check, whatever its algorithm. Bytes are those of the JavaScript heap and of buffers outside it after " +
      "a full garbage collection, including the 20-character key where a limiter keeps it.",
    "A pause is the duration of one turn of the event loop in which 100 new keys arrived, or the delay of a " +
      "1 ms timer while a few known and new keys kept arriving. Garbage collection is included, since the " +
      `limiter produces the garbage. \`${NO_LIMITER}\` shows the share of the machine and the key strings. Each ` +
      "figure is the longest pause of a run.",
    "`limiter` and `@fastify/rate-limit` are not in `pause-expire`, because they never remove keys on their " + "own.",
  ],
  workloads: [
    {
      name: "1m",
      unit: "bytes/key",
      better: "less",
      about: "Memory per key with 1,000,000 keys.",
    },
    {
      name: "pause-arrive",
      unit: "ms",
      better: "less",
      about: "The longest pause while 1,000,000 new keys arrive.",
    },
    {
      name: "pause-expire",
      unit: "ms",
      better: "less",
      about: "The longest pause while 1,000,000 keys expire under light traffic.",
    },
    {
      name: "1m-expired",
      unit: "bytes/key",
      better: "less",
      about:
        "Memory per key three windows after the first of 1,000,000 keys arrived. Headgate keeps a key five " +
        "seconds longer than necessary and frees memory as checks arrive, so it has not finished by then; a " +
        "second later it holds nothing.",
    },
  ],
  experiments: [
    {
      name: "arrive",
      workloads: ["1m", "pause-arrive"],
      subjects: COMING,
      quickSubjects: COMING.filter((subject) => !HEAVY.includes(subject)),
    },
    {
      name: "expire",
      workloads: ["pause-expire", "1m-expired"],
      subjects: FORGETTING,
      quickSubjects: [HEADGATE, "fast-ratelimit", NO_LIMITER],
    },
  ],
  full: { rounds: 3, timedMs: 0, lifetimeMs: 5_000, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 0, lifetimeMs: 1_500, stopAfterMs: 0 },
  measure: async (task) =>
    task.experiment === "arrive"
      ? (await import("./arrive.ts")).measureArrival(task)
      : (await import("./expire.ts")).measureExpiry(task),
};
