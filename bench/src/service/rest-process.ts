// Serves checks over REST, or echoes JSON with bare fastify, in a process of its own: its processor time is the figure.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fastify } from "fastify";
import { makeLog, readSettings, serve } from "headgate-server";
import { CHECK, KEY, RULE } from "./rest-requests.ts";
import { ECHO, type FromService } from "./rest-served.ts";

const [subject] = process.argv.slice(2);
const data = mkdtempSync(join(tmpdir(), "headgate-bench-"));
process.once("exit", () => rmSync(data, { recursive: true, force: true }));
// Who started it may have been killed.
process.once("disconnect", () => process.exit());
process.once("SIGTERM", () => process.exit());

tell({ port: subject === ECHO ? await echo() : await checks() });
// Any message asks for the processor time so far.
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  tell({ processorMs: (user + system) / 1000 });
});

/** Reads a body like that of a check, and sends it back. */
async function echo(): Promise<number> {
  const app = fastify({ keepAliveTimeout: 120_000 });
  app.post("/api/v1/check", (request, reply) => reply.send(request.body));
  return portOf(await app.listen({ port: 0, host: "127.0.0.1" }));
}

/** The service as `headgate serve` starts it, with counters in memory. */
async function checks(): Promise<number> {
  const flags = { http: "127.0.0.1:0", grpc: "off", data, "log-level": "error" };
  const { settings } = await readSettings({ flags, env: { HEADGATE_ADMIN_KEY: KEY } });
  const { url } = await serve(settings, await makeLog(settings, (line) => process.stderr.write(line)));
  for (const rule of [RULE, { ...RULE, rule_id: "denied", endpoint_pattern: CHECK.denied, limit: 1 }]) {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    const response = await fetch(`${url}/api/v1/rules`, { method: "POST", headers, body: JSON.stringify(rule) });
    if (response.status !== 201) throw new Error(await response.text());
  }
  return portOf(url);
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function tell(message: FromService): void {
  process.send?.(message);
}
