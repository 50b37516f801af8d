import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "headgate-testkit/free-port";
import { startRedis } from "headgate-testkit/redis-server";
import { onCore } from "../run/cores.ts";
import { ENVOY_CONFIG } from "./envoy-protocol.ts";
import { AMPLE_LIMIT, DAY_SECONDS, SCARCE_LIMIT } from "./line.ts";
import { type RunningServer, SERVER_CORE, startProgram } from "./running-server.ts";

/** Keys for which servers make room whose room is bounded. */
const MOST_KEYS = 2_000_000;

/** envoyproxy/ratelimit with a Redis, in which it keeps its counters. */
export async function startRatelimit(program: string): Promise<RunningServer> {
  const redis = await startRedis({ launcher: onCore(SERVER_CORE) });
  const [http, grpc, debug] = [await freePort(), await freePort(), await freePort()];
  const server = startProgram((folder) => {
    mkdirSync(join(folder, "ratelimit", "config"), { recursive: true });
    writeFileSync(join(folder, "ratelimit", "config", "bench.yaml"), ENVOY_CONFIG);
    const env = {
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
    };
    return { port: grpc, command: [program], env };
  });
  return {
    ...server,
    pids: [...server.pids, redis.pid],
    async end() {
      await server.end();
      await redis.stop();
    },
  };
}

/** Limitador, with counters in memory. */
export async function startLimitador(program: string): Promise<RunningServer> {
  const [rls, http] = [await freePort(), await freePort()];
  return startProgram((folder) => {
    const limits = join(folder, "limits.yaml");
    writeFileSync(limits, JSON.stringify([limit("ample", AMPLE_LIMIT), limit("scarce", SCARCE_LIMIT)]));
    const addresses = ["-b", "127.0.0.1", "-p", String(rls), "-B", "127.0.0.1", "-P", String(http)];
    return { port: rls, command: [program, ...addresses, limits, "memory", "--cache", String(MOST_KEYS)] };
  });
}

function limit(key: string, max_value: number): object {
  const first = "descriptors[0]";
  const conditions = [`'${key}' in ${first}`];
  return { namespace: "bench", max_value, seconds: DAY_SECONDS, conditions, variables: [`${first}.${key}`] };
}

/** gubernator as a cluster of one, which finds itself by gossip: without any discovery it has no members. */
export async function startGubernator(program: string): Promise<RunningServer> {
  const [grpc, http, gossip] = [await freePort(), await freePort(), await freePort()];
  return startProgram(() => ({
    port: grpc,
    command: [program],
    env: {
      GUBER_GRPC_ADDRESS: `127.0.0.1:${grpc}`,
      GUBER_HTTP_ADDRESS: `127.0.0.1:${http}`,
      GUBER_ADVERTISE_ADDRESS: `127.0.0.1:${grpc}`,
      GUBER_MEMBERLIST_ADDRESS: `127.0.0.1:${gossip}`,
      GUBER_MEMBERLIST_BIND_ADDRESS: `127.0.0.1:${gossip}`,
      GUBER_MEMBERLIST_KNOWN_NODES: `127.0.0.1:${gossip}`,
      GUBER_CACHE_SIZE: String(MOST_KEYS),
      GUBER_LOG_LEVEL: "error",
      OTEL_TRACES_EXPORTER: "none",
    },
  }));
}

export async function startThrottlecrab(program: string): Promise<RunningServer> {
  const port = await freePort();
  const listener = ["--redis", "--redis-host", "127.0.0.1", "--redis-port", String(port)];
  return startProgram(() => ({ port, command: [program, ...listener, "--log-level", "error"] }));
}
