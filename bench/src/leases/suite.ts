import { HEADGATE, type Suite } from "../suite.ts";
import { EAGER, LEASED, LOCK, ONE_CALL } from "./subjects.ts";
import { type Traffic, traffics } from "./traffics.ts";

interface Own extends Pick<Suite, "name" | "reading"> {
  readonly server: string;
  readonly open: NonNullable<Suite["open"]>;
  subjects(traffic: Traffic): readonly string[];
}

function suiteOn({ name, server, reading, subjects, open }: Own): Suite {
  return {
    name,
    title: `Leases on ${server}`,
    about: `checks per second in several processes that share one quota in one ${server}, decided there or by leased quota`,
    reading: [
      "4 processes (`nodes-N`: N processes) with 64 checks in flight each, under one fixed window that is " +
        "never exhausted. All start together and are warmed up for a few seconds.",
      ...reading,
      `All of them share two processor cores with ${server}, and times are wall-clock times, since waiting ` +
        "for each other is what is measured. Rates are the sum over the processes, latencies those of the " +
        "worst process. A batch of leased quota lasts for about two seconds, so there may be no round trip " +
        "during a measurement.",
    ],
    workloads: traffics.flatMap(({ name, about }) => [
      { name, unit: "k checks/s", better: "more" as const, about },
      { name: `${name}-p99`, unit: "ms", better: "less" as const, about: `${about} 99th percentile of the latency.` },
      {
        name: `${name}-trips`,
        unit: "trips",
        better: "less" as const,
        about: `${about} Requests to ${server} per 1,000 checks.`,
      },
    ]),
    experiments: traffics.map((traffic) => ({
      name: traffic.name,
      workloads: [traffic.name, `${traffic.name}-p99`, `${traffic.name}-trips`],
      subjects: subjects(traffic),
    })),
    full: { rounds: 5, timedMs: 2_000, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
    quick: { rounds: 1, timedMs: 1_000, lifetimeMs: 0, stopAfterMs: 0 },
    open,
    measure: async (task) => (await import("./measure.ts")).measureNodes(task),
  };
}

export const leases = suiteOn({
  name: "leases",
  server: "Redis",
  subjects: () => [LEASED, HEADGATE, ONE_CALL],
  reading: [
    `\`${HEADGATE}\` sends the checks of a tick together; \`${ONE_CALL}\` is the same store configured to send ` +
      "each check separately, as most limiters do.",
  ],
  open: async () => ({ ...(await (await import("../redis/server.ts")).startServer()), launcher: [], notes: [] }),
});

export const leasesOnZooKeeper = suiteOn({
  name: "leases-zookeeper",
  server: "ZooKeeper",
  subjects: ({ keys }) => [LEASED, ...(keys > 1 ? [EAGER] : []), HEADGATE, LOCK],
  reading: [
    `\`${HEADGATE}\` decides the waiting checks of a key together, by compare-and-set; \`${LOCK}\` takes a lock ` +
      "on the key for each check (sequential ephemeral znodes, each watching its predecessor), reads the " +
      "remaining quota, writes it minus the cost, and unlocks.",
    `Callers that await each answer do not check any of 1,000 keys often enough on ZooKeeper for a lease: \`${EAGER}\` ` +
      "leases at the first request, and keeps what it holds for 10 s (`promoteAfter: 1, idleMs: 10_000`).",
  ],
  open: async () => (await import("./zookeeper-server.ts")).startZooKeeper(),
});
