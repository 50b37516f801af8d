import { onCore } from "../run/cores.ts";
import { HEADGATE, type Suite, type Workload } from "../suite.ts";
import { type Contest, contests } from "./contests.ts";
import { findProgram } from "./find-program.ts";
import { SCARCE_LIMIT } from "./line.ts";

/** Different from the core of the servers. */
const CLIENT_CORE = 1;

const entries = Object.entries(contests);
const present = entries.filter(([, { program }]) => findProgram(program) !== undefined);

function workloads([peer, { about }]: [string, Contest]): Workload[] {
  const named = (suffix: string, unit: string, better: "more" | "less", what: string): Workload => ({
    name: `${peer}-${suffix}`,
    unit,
    better,
    about: `${about}: ${what}`,
  });
  return [
    named("rate", "k checks/s", "more", "checks per second."),
    named("processor", "k checks/s", "more", "checks per second of the server's processor time."),
    named("p50", "ms", "less", "latency, median."),
    named("p99", "ms", "less", "latency, 99th percentile."),
    named("memory", "MiB", "less", "resident memory with a million keys (with `--quick`, 100,000)."),
    named(
      "admitted",
      `of ${SCARCE_LIMIT}`,
      "less",
      `checks admitted when 50 clients share a limit of ${SCARCE_LIMIT}.`,
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
    "Each server runs on one core, and one client on another. The client keeps 64 checks under way over 4 loopback " +
      "connections, for 10,000 users, one check per request; all of them pass, and every answer is verified. Both are " +
      "the real programs, without TLS, with their metrics but without logs and traces. A rate below that of the " +
      "processor time means that the server waited for the client.",
    "envoyproxy/ratelimit and, beside it, Headgate keep their counters in a Redis, which shares the core of its server " +
      "and is part of its processor time and memory. The others keep them in memory. Headgate serves envoyproxy/ratelimit " +
      "and Limitador's callers over Envoy's rate limit protocol (v3), with the same limits, and throttlecrab's over RESP " +
      "with the same `THROTTLE` commands. gubernator has a gRPC protocol of its own: there, a check of its protocol is " +
      "compared with a check of Headgate's, which is authenticated where gubernator's is not.",
    "For over-admission, 50 clients with a connection each make 500 checks of one key at the same time, ten times; the " +
      "figure is the most that were admitted. Memory is that of the whole process, including its garbage.",
    ...absent.map((sentence) => `${sentence}.`),
  ],
  absent,
  workloads: present.flatMap(workloads),
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
