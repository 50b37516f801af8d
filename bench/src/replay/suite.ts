import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FLOOR, HEADGATE, type Suite } from "../suite.ts";
import { writeLogs } from "./made-logs.ts";

export const READ_AND_SPLIT = `${FLOOR}read and split`;
const READLINE = `${FLOOR}node:readline`;

export const replay: Suite = {
  name: "replay",
  title: "Replaying access logs",
  about: "lines per second of CPU time, and memory with a million keys",
  reading: [
    "The log has a million lines of nginx's combined format with about 100,000 addresses, distributed by Zipf's law. " +
      "Headgate decides each line under one sliding window. Speed is lines per second of CPU time of the whole process, " +
      "including garbage collection in other threads.",
    `\`${READ_AND_SPLIT}\` reads the file in the same pieces, splits it into lines and each line at its spaces, and ` +
      `decides nothing. \`${READLINE}\` only reads lines, with Node's own reader.`,
    "Memory is the largest resident size of the process while it replays a million lines of as many addresses.",
  ],
  workloads: [
    { name: "combined", unit: "k lines/s", better: "more", about: "Lines of nginx's combined format per CPU second." },
    { name: "1m-keys", unit: "MB", better: "less", about: "Largest resident size with 1,000,000 keys." },
  ],
  headlines: ["combined", "1m-keys"],
  experiments: [
    { name: "combined", workloads: ["combined"], subjects: [HEADGATE, READ_AND_SPLIT, READLINE] },
    { name: "1m-keys", workloads: ["1m-keys"], subjects: [HEADGATE] },
  ],
  full: { rounds: 3, timedMs: 0, lifetimeMs: 0, stopAfterMs: Number.POSITIVE_INFINITY },
  quick: { rounds: 1, timedMs: 0, lifetimeMs: 0, stopAfterMs: 0 },
  async open() {
    const folder = await mkdtemp(join(tmpdir(), "headgate-bench-replay-"));
    await writeLogs(folder);
    return { address: folder, launcher: [], notes: [], close: () => rm(folder, { recursive: true }) };
  },
  measure: async (task) => (await import("./measure.ts")).measureReplay(task),
};
