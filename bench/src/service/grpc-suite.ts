import { onCore } from "../run/cores.ts";
import { HEADGATE, type Suite } from "../suite.ts";
import type { Load } from "./grpc-measure.ts";
import { CHECKS_IN_A_MESSAGE } from "./grpc-requests.ts";
import { GRPC_ECHO as ECHO } from "./subjects.ts";

/** Not that of the servers. */
const CLIENT_CORE = 1;

const loads: Readonly<Record<string, Load & { readonly what: string }>> = {
  "grpc-unary": { shape: "unary", isDenied: false, what: "CheckRateLimit, checks that pass" },
  "grpc-unary-denied": { shape: "unary", isDenied: true, what: "CheckRateLimit, checks that are denied" },
  "grpc-batch": { shape: "batch", isDenied: false, what: "CheckRateLimitBatch, checks that pass" },
  "grpc-batch-denied": { shape: "batch", isDenied: true, what: "CheckRateLimitBatch, checks that are denied" },
  "grpc-stream": { shape: "stream", isDenied: false, what: "CheckRateLimitStream, checks that pass" },
  "grpc-stream-denied": { shape: "stream", isDenied: true, what: "CheckRateLimitStream, checks that are denied" },
};

const entries = Object.entries(loads);

function workloadNames(name: string, { shape }: Load): readonly string[] {
  return shape === "unary" ? [name, `${name}-share`] : [name];
}

export const grpc: Suite = {
  name: "grpc",
  title: "Checks over gRPC",
  about: "checks of a whole node, one by one beside an echo of bare grpc-js, in batches and in streams",
  reading: [
    "The node is started as `headgate serve` starts it, with counters in memory, and asked by another process for a " +
      "thousand users: by 64 calls at a time over one connection, or by 8 calls or 8 streams whose messages have " +
      `${CHECKS_IN_A_MESSAGE} checks each. Every call is authenticated and every check counted in the metrics; of ` +
      "every answer it is looked at whether it allows, of a message with many the first.",
    `\`${ECHO}\` sends back the bytes of a check and reads none of them. Both are warmed up, then loaded in turns.`,
    "A node takes on 100,000 checks a second and refuses more. So it is asked for 90,000 at most, and the figures are " +
      "checks for each second of its processor time: what one core could do.",
  ],
  workloads: entries.flatMap(([name, { shape, what }]) => [
    {
      name,
      unit: "k checks/s",
      better: "more" as const,
      about: `${what}, for each second of the server's processor time.`,
    },
    ...(shape === "unary"
      ? [
          {
            name: `${name}-share`,
            unit: "% of the echo",
            better: "more" as const,
            about: "How much of the echo's rate that is.",
          },
        ]
      : []),
  ]),
  experiments: entries.map(([name, load]) => ({
    name,
    workloads: workloadNames(name, load),
    subjects: load.shape === "unary" ? [HEADGATE, ECHO] : [HEADGATE],
    quickSubjects: [HEADGATE],
  })),
  full: { rounds: 5, timedMs: 1_500, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 500, lifetimeMs: 0, stopAfterMs: 0 },
  open: async () => ({
    launcher: onCore(CLIENT_CORE),
    notes: onCore(CLIENT_CORE).length > 0 ? ["Servers have one processor core, who asks them another."] : [],
    close: async () => {},
  }),
  measure: async (task) => (await import("./grpc-measure.ts")).measureGrpc(task, loads[task.experiment]),
};
