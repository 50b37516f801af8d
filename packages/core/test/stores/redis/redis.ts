import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import { RedisStore, type RedisStoreOptions, redisOptions } from "../../../src/redis.ts";

/** A slow machine is not a failure. */
export const PATIENCE_MS = 60_000;

/** A Redis for the tests of a file, and connections to it. */
export class RedisForTests {
  private started: RedisServer | undefined;
  readonly clients: Redis[] = [];
  private prefixes = 0;

  get server(): RedisServer {
    if (this.started === undefined) throw new Error("only in a test");
    return this.started;
  }

  /** The first connection. */
  get client(): Redis {
    return this.clients[0];
  }

  /** One that no test has used before. */
  newPrefix(): string {
    this.prefixes += 1;
    return `test${this.prefixes}`;
  }

  /** A store on the first connection unless another is given, that holds nothing yet unless a prefix is given. */
  store(options: RedisStoreOptions = {}, client = this.client): RedisStore {
    return new RedisStore(client, { prefix: this.newPrefix(), timeoutMs: PATIENCE_MS, ...options });
  }

  async start(): Promise<void> {
    this.started = await startRedis();
    await this.connect();
  }

  async connect(): Promise<Redis> {
    const client = new Redis(this.server.url, redisOptions);
    this.clients.push(client);
    await new Promise((resolve) => client.once("ready", resolve));
    return client;
  }

  async stop(): Promise<void> {
    for (const client of this.clients) client.disconnect();
    await this.started?.stop();
  }
}

export function useRedis(): RedisForTests {
  const redis = new RedisForTests();
  beforeAll(() => redis.start());
  afterAll(() => redis.stop());
  return redis;
}

/** How often a server was called by the name of a command, since it was started or its statistics were reset. */
export async function callsOf(command: string, server: RedisServer): Promise<number> {
  const stats = await server.ask("INFO", "commandstats");
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, "m").exec(stats)?.[1] ?? 0);
}
