import { createReadStream } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { slidingWindow } from "headgate";
import { addressKey, LogReader, mergeLogs, Replay } from "headgate-simulator";
import { type Figures, HEADGATE, type Task } from "../suite.ts";
import { COMBINED, MILLION_KEYS } from "./made-logs.ts";
import { READ_AND_SPLIT } from "./suite.ts";

/** Runs in a process of its own, so that CPU time and memory are those of the subject. */
export async function measureReplay({ experiment, subject, address = "" }: Task): Promise<Figures> {
  if (experiment === "1m-keys") {
    await replayed(join(address, MILLION_KEYS));
    return { "1m-keys": process.resourceUsage().maxRSS / 1024 };
  }
  const path = join(address, COMBINED);
  const before = process.cpuUsage();
  const lines = await readBy(subject, path);
  const { user, system } = process.cpuUsage(before);
  return { combined: lines / ((user + system) / 1e6) / 1000 };
}

function readBy(subject: string, path: string): Promise<number> {
  if (subject === HEADGATE) return replayed(path);
  return subject === READ_AND_SPLIT ? split(path) : withReadline(path);
}

async function replayed(path: string): Promise<number> {
  const rules = { enforced: [{ rule: { name: "api", limit: slidingWindow("100/m") } }], shadow: [] };
  const replay = new Replay(() => rules, { latenessMs: 5_000 });
  const log = new LogReader(path, createReadStream(path), { keyOf: addressKey });
  await mergeLogs([log], (request) => replay.add(request));
  return replay.finish().requests;
}

async function split(path: string): Promise<number> {
  const decoder = new TextDecoder();
  let [lines, fields, rest] = [0, 0, ""];
  for await (const piece of createReadStream(path)) {
    const texts = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = texts.pop() ?? "";
    for (const text of texts) fields += text.split(" ").length;
    lines += texts.length;
  }
  if (fields <= lines) throw new Error("the log has no fields");
  return lines;
}

async function withReadline(path: string): Promise<number> {
  let lines = 0;
  for await (const _ of createInterface({ input: createReadStream(path) })) lines += 1;
  return lines;
}
