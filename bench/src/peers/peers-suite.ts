import { onCore } from "../run/cores.ts";
import { HEADGATE, type Suite, type Workload } from "../suite.ts";
import { type Contest, contests } from "./contests.ts";
import { findProgram } from "./find-program.ts";
import { SCARCE_LIMIT } from "./line.ts";

/** Different from the core of the servers. */
const CLIENT_CORE = 1;

const entries = Object.entries(contests);
const present = entries.filter(([, { program }]) => findProgram(program) !== undefined);

/** As `gubernator`, and with what else is reported, `gubernator-p99`. */
function workloads([peer, { about }]: [string, Contest]): Workload[] {
  const derived = (suffix: string, unit: string, better: "more" | "less", what: string): Workload => ({
    name: `${peer}-${suffix}`,
    unit,
    better,
    about: `${about} ${what}`,
  });
  return [
    { name: peer, unit: "k checks/s", better: "more", about },
    derived("processor", "k checks/s", "more", "For each second of the server's processor time."),
    derived("p50", "ms", "less", "Latency, median."),
    derived("p99", "ms", "less", "Latency, 99th percentile."),
    derived("memory", "MiB", "less", "Resident memory with a million keys (with `--quick`, 100,000)."),
    derived(
      "admitted",
      `of ${SCARCE_LIMIT}`,
      "less",
      `Checks that were allowed when 50 clients shared a limit of ${SCARCE_LIMIT}.`,
    ),
  ];
}

/** Servers in other languages that are not installed, each with what to do about it. */
const absent = entries
  .filter((entry) => !present.includes(entry))
  .map(
    ([peer, { program }]) =>
      `${peer}: skipped, because there is no ${program.name} on the PATH and ${program.variable} names none`,
  );

export const peers: Suite = {
  name: "peers",
  title: "Servers in other languages",
  about: "Headgate in the place of servers in Go and Rust, on the protocols that they serve, if they are installed",
  reading: [
    "Each server runs on one core and the client on another. The client sends one check per request and keeps 64 " +
      "requests in flight over 4 loopback connections, for 10,000 users. All checks are allowed, and every response is " +
      "verified. The servers are the real programs, without TLS, logs and traces; envoyproxy/ratelimit also runs " +
      "without its statistics. Where the rate is below the rate per second of processor time, the server was waiting " +
      "for the client.",
    "envoyproxy/ratelimit keeps its counters in Redis, and so does Headgate in that comparison. The Redis shares the " +
      "core of its server, and its processor time and memory are included. The other servers keep their counters in " +
      "memory, with room for 2,000,000 keys where they have a bound. Against envoyproxy/ratelimit and Limitador, " +
      "Headgate serves Envoy's rate limit protocol (v3) with the same limits; against throttlecrab, the same `THROTTLE` " +
      "commands over RESP. gubernator has a gRPC protocol of its own, so one check over it is compared with one check " +
      "over Headgate's gRPC API, which also authenticates every call. Its clients collect checks, so " +
      "`gubernator-batch` compares requests with 100 checks each, 16 requests in flight; of their responses, the first " +
      "check is verified.",
    "For over-admission, 50 clients, each with a connection of its own, send 500 checks of one key at the same time. " +
      "This is repeated with ten keys, and the figure is the highest number of checks that were allowed. Memory is the " +
      "resident memory of the processes.",
  ],
  absent,
  workloads: entries.flatMap(workloads),
  headlines: entries.map(([peer]) => `${peer}-processor`),
  experiments: present.map((entry) => ({
    name: entry[0],
    workloads: workloads(entry).map(({ name }) => name),
    subjects: [HEADGATE, entry[0]],
  })),
  full: { rounds: 3, timedMs: 3_000, lifetimeMs: 0, keys: 1_000_000, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 1_000, lifetimeMs: 0, keys: 100_000, stopAfterMs: 0 },
  open: async () => ({ launcher: onCore(CLIENT_CORE), notes: [], close: async () => {} }),
  measure: async (task) => (await import("./measure-peers.ts")).measurePeers(task),
};
