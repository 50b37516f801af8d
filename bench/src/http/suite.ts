import { onCore } from "../run/cores.ts";
import { HEADGATE, type Suite } from "../suite.ts";
import { frameworks } from "./frameworks.ts";
import { BARE, THREE_HEADERS } from "./servers/server.ts";
import { workloadsOf } from "./workloads.ts";

/** Not that of the servers. */
const CLIENT_CORE = 1;

const entries = Object.entries(frameworks);

export const http: Suite = {
  name: "http",
  title: "HTTP",
  about: "requests per second of hello world in Express, Fastify and Hono, bare and with a limiter before it",
  reading: [
    "Each server has a process of its own and is asked by another, over 64 connections of the loopback, each with one " +
      "request at a time. Processor time is that of the server's whole process, garbage collection and all. Every " +
      "response is looked at: the status, the body, and that there are RateLimit headers if there is a limiter.",
    "A subject is measured beside a bare server of its framework: both are warmed up with 30,000 requests, then loaded " +
      "in turns. What it costs is how much less it answers than that one. `floor: bare` is measured beside another one " +
      "of its kind, so that its cost would be nothing but for the noise, which its least and most show.",
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
  full: { rounds: 5, timedMs: 1_500, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 500, lifetimeMs: 0, stopAfterMs: 0 },
  open: async () => ({
    launcher: onCore(CLIENT_CORE),
    notes: onCore(CLIENT_CORE).length > 0 ? ["Servers have one processor core, who asks them another."] : [],
    close: async () => {},
  }),
  measure: async (task) => (await import("./measure.ts")).measureServer(task),
};
