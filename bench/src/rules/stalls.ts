import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "headgate-server";
import type { Figures, Task } from "../suite.ts";
import { makeRules, rulesYaml } from "./made-rules.ts";
import { StalledNode } from "./stalled-node.ts";

const COUNTS: Readonly<Record<string, number>> = { "1k": 1_000, "10k": 10_000, "100k": 100_000 };
const ACTOR = { id: "bench", name: "bench" };
const LOOK_MS = 50;

/** The longest pauses of a node whose rules change. */
export async function measureStalls({ experiment }: Task): Promise<Figures> {
  const [place, size] = experiment.split("-");
  const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
  try {
    return place === "file" ? await inFile(size, folder) : await inDatabase(size, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function inDatabase(size: string, folder: string): Promise<Figures> {
  const data = join(folder, "data");
  const count = COUNTS[size];
  const node = await StalledNode.start({ data });
  try {
    await node.ask("PUT", "rules", { rules: makeRules(count) });
    await node.longestMs();
    await node.ask("PUT", "rules", { rules: makeRules(count, 1) });
    const replaced = await node.longestMs();
    const database = await openDatabase({ postgres: undefined, data });
    await database.rules.update({ ...makeRules(1)[0], limit: 7 }, ACTOR);
    await database.close();
    await limitIs(node, 7);
    return { [`replace-${size}`]: replaced, [`reread-${size}`]: await node.longestMs() };
  } finally {
    await node.close();
  }
}

async function inFile(size: string, folder: string): Promise<Figures> {
  const rules = join(folder, "rules.yaml");
  writeFileSync(rules, rulesYaml(makeRules(COUNTS[size])));
  const node = await StalledNode.start({ data: join(folder, "data"), rules });
  try {
    await node.longestMs();
    writeFileSync(`${rules}.new`, rulesYaml(makeRules(COUNTS[size], 1)));
    renameSync(`${rules}.new`, rules);
    await limitIs(node, 101);
    return { [`reload-${size}`]: await node.longestMs() };
  } finally {
    await node.close();
  }
}

/** Waits until the first rule is in force as it was changed. */
async function limitIs(node: StalledNode, limit: number): Promise<void> {
  const check = { identifier: "1", dimension: "user", endpoint: "/", cost: 0 };
  for (;;) {
    const answer = await node.ask("POST", "check", check);
    if (typeof answer === "object" && answer !== null && "limit" in answer && answer.limit === limit) return;
    await delay(LOOK_MS);
  }
}
