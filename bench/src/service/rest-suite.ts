import { onCore } from "../run/cores.ts";
import { type Experiment, HEADGATE, type Suite, type Workload } from "../suite.ts";
import { REST_ECHO as ECHO } from "./subjects.ts";

/** Different from the core of the servers. */
const CLIENT_CORE = 1;

function workloads(name: string, what: string): Workload[] {
  return [
    { name, unit: "k checks/s", better: "more", about: `${what}, for each second of the server's processor time.` },
    { name: `${name}-share`, unit: "% of the echo", better: "more", about: `How much of the echo's rate that is.` },
  ];
}

function experiment(name: string): Experiment {
  return { name, workloads: [name, `${name}-share`], subjects: [HEADGATE, ECHO], quickSubjects: [HEADGATE] };
}

export const rest: Suite = {
  name: "rest",
  title: "Checks over REST",
  about: "POST /api/v1/check of a complete node, compared with a JSON echo in plain fastify",
  reading: [
    "The node is started like `headgate serve`, with counters in memory. Another process sends checks for a " +
      "thousand users over 64 loopback connections, each with one request at a time. Every check is " +
      "authenticated, counted in the metrics and answered with all its headers, and the status of every " +
      "response is verified.",
    `\`${ECHO}\` parses the same request and returns its body. Both are warmed up with 30,000 requests, then ` +
      "loaded in turns. The echo is measured together with another echo, so apart from noise its share is 100 " +
      "%.",
  ],
  workloads: [
    ...workloads("rest-allowed", "A check that passes"),
    ...workloads("rest-denied", "A check that is denied"),
  ],
  headlines: ["rest-allowed-share", "rest-denied-share"],
  experiments: [experiment("rest-allowed"), experiment("rest-denied")],
  full: { rounds: 5, timedMs: 1_500, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 500, lifetimeMs: 0, stopAfterMs: 0 },
  open: async () => ({
    launcher: onCore(CLIENT_CORE),
    notes: onCore(CLIENT_CORE).length > 0 ? ["Servers have one processor core, who asks them another."] : [],
    close: async () => {},
  }),
  measure: async (task) => (await import("./rest-measure.ts")).measureRest(task),
};
