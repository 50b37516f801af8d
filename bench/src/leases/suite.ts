import { HEADGATE, type Suite } from "../suite.ts";
import { LEASED, ONE_CALL } from "./subjects.ts";
import { traffics } from "./traffics.ts";

const SUBJECTS = [LEASED, HEADGATE, ONE_CALL];

export const leases: Suite = {
  name: "leases",
  title: "Leases on Redis",
  about: "checks per second in several processes that share one quota in one Redis, decided there or by leased quota",
  reading: [
    "4 processes (`nodes-N`: N of them) with 64 checks in flight each, under one fixed window that nobody exhausts. " +
      "`headgate` sends the checks of a tick together; `headgate-one-call` sends each by itself, as most limiters do.",
    "All of them share two processor cores with Redis. Rates are the sum over the processes, times the worst of them.",
  ],
  workloads: traffics.flatMap(({ name, about }) => [
    { name, unit: "k checks/s", better: "more" as const, about },
    { name: `${name}-p99`, unit: "ms", better: "less" as const, about: `${about} All but the slowest hundredth.` },
    {
      name: `${name}-trips`,
      unit: "trips",
      better: "less" as const,
      about: `${about} Requests to Redis for 1,000 checks.`,
    },
  ]),
  experiments: traffics.map(({ name }) => ({
    name,
    workloads: [name, `${name}-p99`, `${name}-trips`],
    subjects: SUBJECTS,
  })),
  full: { rounds: 5, timedMs: 2_000, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 1_000, lifetimeMs: 0, stopAfterMs: 0 },
  open: async () => ({ ...(await (await import("../redis/server.ts")).startServer()), launcher: [] }),
  measure: async (task) => (await import("./measure.ts")).measureNodes(task),
};
