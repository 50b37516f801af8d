import { contestants, NO_LIMITER } from "../subjects/registry.ts";
import { HEADGATE, type Suite } from "../suite.ts";

const COMING: readonly string[] = [...contestants, NO_LIMITER];
/** With these a quick run would not be quick: a million keys of theirs take as long as those of all the others. */
const HEAVY: readonly string[] = ["@nestjs/throttler", "rate-limiter-flexible", "limiter"];
/** Not `limiter`, `@fastify/rate-limit` or the floors: those keep a key until somebody else drops it. */
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
  about: "bytes for each key, and the longest pause of the event loop while a million keys come and expire",
  reading: [
    "Every limiter allows one check in its window, so that each keeps a key for one window after its only check, " +
      "whatever its algorithm. Bytes are those of the JavaScript heap and of buffers outside it, after a full garbage " +
      "collection, and include the 20-character key where a limiter keeps it.",
    "A pause is how long the event loop took for one turn in which 100 new keys came, or how much later than asked a " +
      "timer of 1 ms fired while a few known and new keys kept coming. Garbage collection counts: it is the limiter's " +
      `garbage. \`${NO_LIMITER}\` shows how much of it is the machine and the key strings. Each figure is the longest ` +
      "pause of a whole run.",
    "`limiter` and `@fastify/rate-limit` are not in `pause-expire`: they never let go of a key by themselves.",
  ],
  workloads: [
    {
      name: "1m",
      unit: "bytes/key",
      better: "less",
      about: "Memory for each of 1,000,000 keys.",
    },
    {
      name: "pause-arrive",
      unit: "ms",
      better: "less",
      about: "The longest pause while 1,000,000 keys come for the first time.",
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
        "What is still held for each of 1,000,000 keys three windows after the first of them came. Headgate keeps a key " +
        "five seconds longer than it must and gives memory back as checks come, so it is not done by then: a second " +
        "later it holds nothing.",
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
