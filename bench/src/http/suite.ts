import { HEADGATE, type Suite } from "../suite.ts";
import { frameworks } from "./frameworks.ts";
import { onOneCore } from "./one-core.ts";
import { BARE, THREE_HEADERS } from "./servers/server.ts";
import { costName, workloadsOf } from "./workloads.ts";

const entries = Object.entries(frameworks);

export const http: Suite = {
  name: "http",
  title: "HTTP",
  about: "requests per second of hello world in Express, Fastify and Hono, with and without a limiter",
  reading: [
    "Each server runs in its own process and is loaded by another one over 64 loopback connections, each " +
      "with one request at a time. Processor time is that of the server's whole process, including garbage " +
      "collection. Every response is verified: status, body, and RateLimit headers if there is a limiter.",
    "A subject is measured together with two bare servers of its framework, one started before it and one " +
      "after, all in fresh processes for each round. Each is warmed up with 20,000 requests; then they are " +
      "loaded in short turns: bare, subject, bare, subject, ten times. The cost of a subject is how many " +
      "requests fewer it answers than the bare servers in the same four turns. The figure of a round is the " +
      "median of these ten ratios; the tables show the median, minimum and maximum of the rounds. `floor: " +
      "bare` is measured in the same way: its cost is only noise, and smaller differences are not " +
      "significant.",
    "On Linux, the servers and their client share one core, on which each runs until it waits " +
      "(`SCHED_BATCH`). So a server always finds a full batch of requests, as under full load, and other " +
      "programs disturb it less.",
    "Every limiter counts in memory and allows 1,000,000,000 requests a day per address; there is one " +
      "address. Headgate runs without options; express-rate-limit writes the headers of `draft-8`, the others " +
      "their default headers. `floor: three constant headers` sets three headers and decides nothing.",
  ],
  workloads: entries.flatMap(([name, { title }]) => workloadsOf(name, title)),
  headlines: entries.map(([name]) => costName(name)),
  experiments: entries.map(([name, { title, peer }]) => ({
    name,
    workloads: workloadsOf(name, title).map((workload) => workload.name),
    subjects: [BARE, THREE_HEADERS, HEADGATE, peer],
    quickSubjects: [HEADGATE, peer],
  })),
  full: { rounds: 5, timedMs: 800, lifetimeMs: 0, stopAfterMs: 220_000 },
  quick: { rounds: 1, timedMs: 600, lifetimeMs: 0, stopAfterMs: 0 },
  open: async () => ({
    launcher: onOneCore(),
    notes: [],
    close: async () => {},
  }),
  measure: async (task) => (await import("./measure.ts")).measureServer(task),
};
