import { HEADGATE, type Suite } from "../suite.ts";
import { frameworks } from "./frameworks.ts";
import { onOneCore } from "./one-core.ts";
import { BARE, THREE_HEADERS } from "./servers/server.ts";
import { workloadsOf } from "./workloads.ts";

const entries = Object.entries(frameworks);

export const http: Suite = {
  name: "http",
  title: "HTTP",
  about: "requests per second of hello world in Express, Fastify and Hono, bare and with a limiter before it",
  reading: [
    "Each server has a process of its own and is asked by another, over 64 connections of the loopback, each with one " +
      "request at a time. Processor time is that of the server's whole process, garbage collection and all. Every " +
      "response is looked at: the status, the body, and that there are RateLimit headers if there is a limiter.",
    "A subject is measured beside two bare servers of its framework, one started before it and one after, all in " +
      "fresh processes for each round. Each is warmed up with 20,000 requests; then they are loaded in short turns: " +
      "bare, subject, bare, subject, and so ten times. What a subject costs is how much less it answers than the bare " +
      "ones in the same four turns; of these ten ratios the median is the round's, and of the rounds the median, the " +
      "least and the most are shown. `floor: bare` is measured in the same way: its cost is nothing but noise, and what " +
      "differs by less is not told apart.",
    "On Linux the servers and who asks them share one core, on which each runs until it waits (`SCHED_BATCH`). So a " +
      "server always finds a whole batch of requests, as one does that has no time to spare, and what other programs do " +
      "disturbs it less.",
    "Every limiter keeps its counts in memory and allows 1,000,000,000 requests a day for each address, of which there " +
      "is one. Headgate has no options; express-rate-limit writes the headers of `draft-8`, the others those they " +
      "write by default. `floor: three constant headers` sets three headers and decides nothing.",
  ],
  workloads: entries.flatMap(([name, { title }]) => workloadsOf(name, title)),
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
