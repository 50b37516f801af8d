import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "headgate-testkit/free-port";
import { startRedis } from "headgate-testkit/redis-server";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { onCore } from "../run/cores.ts";
import { KEY } from "../service/rest-requests.ts";
import { ENVOY_CONFIG } from "./envoy-protocol.ts";
import { HEADGATE_RULES } from "./headgate-protocol.ts";
import { type RunningServer, SERVER_CORE } from "./running-server.ts";

/** Headgate for Envoy, with counters in memory. */
export async function startForEnvoy(more: readonly string[] = []): Promise<RunningServer> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-peers-"));
  writeFileSync(join(folder, "bench.yaml"), ENVOY_CONFIG);
  const port = await freePort();
  const listener = ["--envoy", `127.0.0.1:${port}`, "--envoy-anonymous", "--envoy-config", folder];
  const node = await start([...listener, ...more]);
  return {
    ...running(node, port),
    async end() {
      await node.end();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The same, with counters in a Redis of its own. */
export async function startForEnvoyWithRedis(): Promise<RunningServer> {
  const redis = await startRedis({ launcher: onCore(SERVER_CORE) });
  // The longest that is possible: while a busy machine delays Redis, it would count without it.
  const server = await startForEnvoy(["--envoy-timeout", "1s", "--redis", redis.url]);
  return {
    ...server,
    pids: [...server.pids, redis.pid],
    async end() {
      await server.end();
      await redis.stop();
    },
  };
}

export async function startForResp(): Promise<RunningServer> {
  const port = await freePort();
  return running(await start(["--resp", `127.0.0.1:${port}`]), port);
}

export async function startForGrpc(): Promise<RunningServer> {
  const node = await start([]);
  for (const rule of HEADGATE_RULES) {
    const response = await node.request("POST", "/api/v1/rules", rule);
    if (response.status !== 201) throw new Error(await response.text());
  }
  return running(node, Number(node.grpcAddress.split(":").at(-1)));
}

function start(flags: readonly string[]): Promise<NodeProcess> {
  return startNode({
    flags: [...flags, "--checks-limit", "10000000/s"],
    env: { HEADGATE_ADMIN_KEY: KEY, NODE_ENV: "production" },
    launcher: onCore(SERVER_CORE),
  });
}

function running(node: NodeProcess, port: number): RunningServer {
  return { port, pids: [Number(node.child.pid)], end: () => node.end() };
}
