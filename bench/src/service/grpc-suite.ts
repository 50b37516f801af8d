import { onCore } from "../run/cores.ts";
import { HEADGATE, type Suite } from "../suite.ts";
import type { Load } from "./grpc-measure.ts";
import { CHECKS_IN_A_MESSAGE } from "./grpc-requests.ts";
import { GRPC_ECHO as ECHO } from "./subjects.ts";

/** Different from the core of the servers. */
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
  about:
    "checks of a complete node, one by one (compared with an echo in plain grpc-js), in batches and in " + "streams",
  reading: [
    "The node is started like `headgate serve`, with counters in memory. Another process sends checks for a " +
      "thousand users: 64 calls at a time over one connection, or 8 calls or 8 streams with " +
      `${CHECKS_IN_A_MESSAGE} checks per message. Every call is authenticated and every check is counted in ` +
      "the metrics. Every response is verified to be allowed; for messages with many checks, the first.",
    `\`${ECHO}\` returns the bytes of a check without reading them. Both are warmed up, then loaded in turns.`,
    "A node accepts 100,000 checks a second. It is therefore loaded with at most 90,000, and the figures " +
      "are checks per second of its processor time: what one core could do.",
  ],
  workloads: entries.flatMap(([name, { shape, what }]) => [
    {
      name,
      unit: "k checks/s",
      better: "more" as const,
      about: `${what}, per second of the server's processor time.`,
    },
    ...(shape === "unary"
      ? [
          {
            name: `${name}-share`,
            unit: "% of the echo",
            better: "more" as const,
            about: "Rate relative to the echo.",
          },
        ]
      : []),
  ]),
  headlines: ["grpc-unary", "grpc-batch", "grpc-stream"],
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
