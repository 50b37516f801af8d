import { onCore } from "../run/cores.ts";
import { type Experiment, HEADGATE, type Suite, type Workload } from "../suite.ts";
import { RESP_CONSTANT, RESP_LUA } from "./subjects.ts";

/** Different from the core of the servers. */
const CLIENT_CORE = 1;

function workloads(name: string, what: string): Workload[] {
  return [
    { name, unit: "k checks/s", better: "more", about: `${what}, for each second of the server's processor time.` },
    { name: `${name}-share`, unit: "% of constants", better: "more", about: "How much of the floor's rate that is." },
  ];
}

function experiment(name: string): Experiment {
  return {
    name,
    workloads: [name, `${name}-share`],
    subjects: [HEADGATE, RESP_LUA, RESP_CONSTANT],
    quickSubjects: [HEADGATE, RESP_LUA],
  };
}

export const resp: Suite = {
  name: "resp",
  title: "Checks over RESP",
  about: "CL.THROTTLE of a complete node, compared with GCRA in Lua on Redis, and with a server of constants",
  reading: [
    "The node is started like `headgate serve --resp`, with counters in memory. Another process sends checks for " +
      "a thousand users over 64 loopback connections, one or 16 at a time on each. Every check is authenticated, " +
      "counted in the metrics, and passes.",
    `\`${RESP_CONSTANT}\` reads the arguments of the same commands in the same way and answers each with the same five integers. ` +
      `\`${RESP_LUA}\` is the same limit as a script of a Redis, called by EVALSHA. All are warmed up with 300,000 ` +
      "commands, then loaded in turns.",
  ],
  workloads: [
    ...workloads("resp-single", "One check at a time"),
    ...workloads("resp-pipeline", "Checks in pipelines of 16"),
  ],
  headlines: ["resp-single", "resp-pipeline"],
  experiments: [experiment("resp-single"), experiment("resp-pipeline")],
  full: { rounds: 5, timedMs: 3_000, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 500, lifetimeMs: 0, stopAfterMs: 0 },
  open: async () => ({
    launcher: onCore(CLIENT_CORE),
    notes: onCore(CLIENT_CORE).length > 0 ? ["Servers have one processor core, their client another."] : [],
    close: async () => {},
  }),
  measure: async (task) => (await import("./resp-measure.ts")).measureResp(task),
};
