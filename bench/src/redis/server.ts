import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { onCore } from "../run/cores.ts";
import type { Surroundings } from "../suite.ts";

/** On separate cores, so that neither takes time from the other. */
const CLIENT_CORE = 0;
const SERVER_CORE = 1;

/** Starts the Redis shared by all subjects of a run, without persistence. */
export async function startServer(): Promise<Surroundings> {
  const launcher = onCore(CLIENT_CORE);
  const server = await start();
  const cores = launcher.length > 0 ? ", on a processor core of its own; so has each subject" : "";
  return {
    address: server.url,
    launcher,
    notes: [`Redis ${await server.version()}, over the loopback${cores}. All subjects use ioredis.`],
    close: () => server.stop(),
  };
}

async function start(): Promise<RedisServer> {
  try {
    return await startRedis({ launcher: onCore(SERVER_CORE) });
  } catch (error) {
    throw new Error("redis-server does not start: is it on the PATH?", { cause: error });
  }
}
