import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "headgate-testkit/free-port";
import { repeated } from "headgate-testkit/repeated";
import { NodeProcess } from "headgate-testkit/service-process";
import { expect, it } from "vitest";
import { openDatabase } from "../../src/database/open-database.ts";

const program = new URL("../../../cli/bin/headgate.js", import.meta.url).pathname;

const kills = repeated(5);

// Two folders at once: while one node starts, the other is written to.
it.concurrent.each([1, 2])(
  `loses nothing that was acknowledged when the node is killed at random moments (folder %i, ${kills} times)`,
  { timeout: 120_000 + 15_000 * kills },
  async (folder) => {
    const acknowledged: string[] = [];
    // A port and a key of its own: a writer must not mistake the other folder's node for its own after a restart.
    const flags = ["--grpc", "off", "--http", `127.0.0.1:${await freePort()}`];
    const env = { HEADGATE_ADMIN_KEY: `admin-of-folder-${folder}` };
    let node = new NodeProcess({ env, flags });
    const { data } = node;
    try {
      for (let kill = 0; kill < kills; kill += 1) {
        // Now and then while it starts.
        if (kill % 5 === 4) {
          await delay(Math.random() * 1_000);
        } else {
          await node.whenReady();
          await writeUntilKilled(node, acknowledged);
        }
        await node.kill();
        node = new NodeProcess({ env, flags, data });
      }
      await node.whenReady();
      expect(await node.stop()).toBe(0);
      const database = await openDatabase({ data });
      const kept = new Set((await database.rules.all()).map(({ rule_id }) => rule_id));
      await database.close();
      expect(acknowledged.length).toBeGreaterThan(kills);
      expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
      const verified = execFileSync(process.execPath, [program, "audit", "verify", "--data", data]);
      expect(String(verified)).toMatch(/^intact: \d+ entries\nhead: \d+:[0-9a-f]+\n$/);
    } finally {
      await node.kill();
      rmSync(data, { recursive: true, force: true });
    }
  },
);

/** Makes rules, three at a time, and notes those that are acknowledged; after a few, at any moment, the node is killed. */
async function writeUntilKilled(node: NodeProcess, acknowledged: string[]): Promise<void> {
  const enough = acknowledged.length + 2 + Math.floor(Math.random() * 8);
  let dies: Promise<void> | undefined;
  let isDead = false;
  const kill = async (): Promise<void> => {
    await delay(Math.random() * 20);
    await node.kill();
    isDead = true;
  };
  const write = async (): Promise<void> => {
    while (!isDead) {
      const id = `rule-${randomUUID()}`;
      try {
        const response = await node.addRule(id, `/${id}`, 1);
        await response.arrayBuffer();
        if (response.status === 201) acknowledged.push(id);
      } catch {
        return;
      }
      if (acknowledged.length >= enough) dies ??= kill();
    }
  };
  await Promise.all([write(), write(), write()]);
  await dies;
}
