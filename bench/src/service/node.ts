import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeLog, type RunningNode, readSettings, serve } from "headgate-server";
import { CHECK, KEY, RULE } from "./rest-requests.ts";

/**
 * The service as started by `headgate serve`, with counters in memory: one rule that admits all, and one that admits
 * none.
 */
export async function startNode(more: Readonly<Record<string, string>> = {}): Promise<RunningNode> {
  const data = mkdtempSync(join(tmpdir(), "headgate-bench-"));
  process.once("exit", () => rmSync(data, { recursive: true, force: true }));
  const flags = { http: "127.0.0.1:0", grpc: "127.0.0.1:0", data, "log-level": "error", ...more };
  const { settings } = await readSettings({ flags, env: { HEADGATE_ADMIN_KEY: KEY } });
  const node = await serve(settings, await makeLog(settings, (line) => process.stderr.write(line)));
  for (const rule of [RULE, { ...RULE, rule_id: "denied", endpoint_pattern: CHECK.denied, limit: 1 }]) {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    const response = await fetch(`${node.url}/api/v1/rules`, { method: "POST", headers, body: JSON.stringify(rule) });
    if (response.status !== 201) throw new Error(await response.text());
  }
  return node;
}
