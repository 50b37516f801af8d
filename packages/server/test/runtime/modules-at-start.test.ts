import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-start-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a node of the compiled package, and prints which packages it has loaded. */
const SCRIPT = `
import { createRequire } from "node:module";
import { makeLog, readSettings, serve } from "headgate-server";
const flags = { http: "127.0.0.1:0", grpc: "127.0.0.1:0", data: process.argv[1] };
const { settings } = await readSettings({ flags, env: { HEADGATE_ADMIN_KEY: "admin-of-this-test" } });
const node = await serve(settings, await makeLog(settings, () => {}));
const files = Object.keys(createRequire(import.meta.url).cache);
console.log(JSON.stringify(files.map((file) => /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(file)?.[1])));
await node.stop();
`;

it("loads no client, driver or parser that the settings do not need", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", SCRIPT, folder], {
    cwd: import.meta.dirname,
  });
  const loaded = new Set<string>(JSON.parse(stdout));
  expect(loaded).toContain("fastify");
  const onDemand = ["@fastify/swagger", "ajv", "grpc-health-check", "ioredis", "node-zookeeper-client", "pg", "yaml"];
  expect(["protobufjs", ...onDemand].filter((name) => loaded.has(name))).toEqual([]);
});
