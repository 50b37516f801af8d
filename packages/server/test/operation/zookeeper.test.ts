import { eventually } from "headgate-testkit/eventually";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { startZooKeeper, type ZooKeeperServer } from "headgate-testkit/zookeeper-server";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readSettings } from "../../src/config/read-settings.ts";
import { doctor } from "../../src/doctor/doctor.ts";

let server: ZooKeeperServer;
let node: NodeProcess | undefined;
beforeAll(async () => {
  server = await startZooKeeper();
});
afterAll(async () => {
  await node?.end();
  await server?.stop();
});

it("keeps counters in ZooKeeper, also over a restart of the node", async () => {
  const hosts = `127.0.0.1:${server.port}`;
  const { settings } = await readSettings({ flags: { zookeeper: hosts }, env: {} });
  expect(await doctor(settings)).toContainEqual({ about: "zookeeper", level: "ok", message: "answers" });
  const env = { HEADGATE_ADMIN_KEY: "admin-of-this-test", HEADGATE_ZOOKEEPER: hosts, HEADGATE_STORE_TIMEOUT: "1s" };
  const first = await startNode({ env });
  node = first;
  await first.addRule("two", "/two", 2, { window_seconds: 3600, on_error: "deny" });
  // Until its code is warm, a node on a busy machine can take longer than its store may.
  await eventually("the store answers", async () => (await first.check("warm-up", "/two")) !== 503);
  expect(await first.check("a", "/two")).toBe(200);
  expect(await first.stop()).toBe(0);
  const second = await startNode({ env, data: first.data });
  node = second;
  await eventually("the store answers", async () => (await second.check("warm-up", "/two")) !== 503);
  expect(await node.check("a", "/two")).toBe(200);
  expect(await node.check("a", "/two")).toBe(429);
  expect(await node.stop()).toBe(0);
  await first.end();
});
