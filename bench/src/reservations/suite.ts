import { HEADGATE, type Suite, type Workload } from "../suite.ts";
import { steps } from "./subjects/registry.ts";
import { HELD, traffics } from "./traffics.ts";

function workloadsOf({ name, about }: { readonly name: string; readonly about: string }): Workload[] {
  return [
    { name, unit: "k/s", better: "more", about },
    {
      name: `${name}-client`,
      unit: "k/s",
      better: "more",
      about: `${about} For each second of the client's processor time.`,
    },
    {
      name: `${name}-redis`,
      unit: "k/s",
      better: "more",
      about: `${about} For each second of Redis's processor time.`,
    },
  ];
}

const held: Workload[] = [
  {
    name: HELD.name,
    unit: "calls",
    better: "less",
    about: "10,000 slots of one process: calls to Redis per extension.",
  },
  {
    name: `${HELD.name}-client`,
    unit: "ms",
    better: "less",
    about: "Processor time of the client per extension of all.",
  },
  { name: `${HELD.name}-redis`, unit: "ms", better: "less", about: "Processor time of Redis per extension of all." },
];

export const reservations: Suite = {
  name: "reservations",
  title: "Reservations and slots",
  about: "reservations and slots per second of one process with one Redis, and the processor time on both sides",
  reading: [
    "`settle-N`: Headgate reserves an estimate, which is recorded in a journal so that other processes can release " +
      "it after a crash, and settles the real cost. The peers have no reservations; for them it is two plain checks.",
    "`slots-N`: Headgate and its peers run an empty task in one of 1,000 slots. Slots of Headgate and redis-semaphore " +
      "expire if the process dies; those of bottleneck do so with its client.",
    `\`${HELD.name}\`: one process holds 10,000 slots of 1,000 keys. By default they are extended every ten seconds.`,
  ],
  workloads: [...traffics.flatMap(workloadsOf), ...held],
  experiments: [
    ...traffics.map((traffic) => ({
      name: traffic.name,
      workloads: workloadsOf(traffic).map(({ name }) => name),
      subjects: Object.keys(steps[traffic.kind]),
    })),
    { name: HELD.name, workloads: held.map(({ name }) => name), subjects: [HEADGATE] },
  ],
  full: { rounds: 5, timedMs: 1_500, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 500, lifetimeMs: 0, stopAfterMs: 0 },
  open: async () => (await import("../redis/server.ts")).startServer(),
  measure: async (task) => (await import("./measure.ts")).measureReservations(task),
};
