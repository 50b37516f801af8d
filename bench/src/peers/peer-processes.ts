import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnChild } from "headgate-testkit/child-process";
import { freePort } from "headgate-testkit/free-port";
import type { RedisServer } from "headgate-testkit/redis-server";
import { startNode } from "headgate-testkit/service-process";

/** A server of Envoy's rate limit protocol in a process of its own. */
export interface RunningPeer {
  readonly pid: number;
  readonly address: string;
  end(): Promise<unknown>;
}

const CONFIG = `
domain: bench
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 1000000 }
`;

export async function startHeadgate(redis: RedisServer): Promise<RunningPeer> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-peers-"));
  writeFileSync(join(folder, "bench.yaml"), CONFIG);
  const address = `127.0.0.1:${await freePort()}`;
  const listener = ["--envoy", address, "--envoy-anonymous", "--envoy-config", folder, "--envoy-timeout", "1s"];
  const node = await startNode({ flags: [...listener, "--redis", redis.url, "--checks-limit", "10000000/s"] });
  return {
    pid: Number(node.child.pid),
    address,
    async end() {
      await node.end();
      rmSync(folder, { recursive: true });
    },
  };
}

/** envoyproxy/ratelimit, configured by variables and a folder. */
export async function startRatelimit(program: string, redis: RedisServer): Promise<RunningPeer> {
  const folder = mkdtempSync(join(tmpdir(), "ratelimit-peers-"));
  mkdirSync(join(folder, "ratelimit", "config"), { recursive: true });
  writeFileSync(join(folder, "ratelimit", "config", "bench.yaml"), CONFIG);
  const [http, grpc, debug] = [await freePort(), await freePort(), await freePort()];
  const settings = {
    USE_STATSD: "false",
    DISABLE_STATS: "true",
    LOG_LEVEL: "error",
    REDIS_SOCKET_TYPE: "tcp",
    REDIS_URL: `127.0.0.1:${redis.port}`,
    RUNTIME_ROOT: folder,
    RUNTIME_SUBDIRECTORY: "ratelimit",
    RUNTIME_WATCH_ROOT: "false",
    HOST: "127.0.0.1",
    PORT: String(http),
    GRPC_HOST: "127.0.0.1",
    GRPC_PORT: String(grpc),
    DEBUG_HOST: "127.0.0.1",
    DEBUG_PORT: String(debug),
    GOMAXPROCS: "1",
  };
  const variables = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const child = spawnChild("/usr/bin/env", [...variables, program], { hear: () => {} });
  const ended = new Promise((resolve) => child.once("close", resolve));
  return {
    pid: Number(child.pid),
    address: `127.0.0.1:${grpc}`,
    async end() {
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}
