import { type Cluster, type ClusterOptions, Command, Redis, type RedisOptions } from "ioredis";
import { HeadgateError, shown } from "../../errors.ts";

export type RedisClient = Redis | Cluster;

/** Soon enough to be back within a second, and not so often that a server that starts is run over. */
function reconnectAfter(attempts: number): number {
  return Math.min(50 * attempts, 250);
}

/**
 * How a connection must be set for a limiter: what was sent is never sent again behind our back, for it may have
 * been charged; what cannot be sent fails at once; a server that has gone silent is left; and one that has become
 * a replica too.
 */
export const redisOptions = {
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // It would leave a server that loads its data alone for a second and more; each call is told so by the server.
  enableReadyCheck: false,
  connectTimeout: 1_000,
  socketTimeout: 1_000,
  retryStrategy: reconnectAfter,
  reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
} satisfies RedisOptions;

/** The same for a cluster; ioredis would send what was under way to another node when a connection breaks. */
export const clusterOptions = {
  enableOfflineQueue: false,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  slotsRefreshTimeout: 500,
  slotsRefreshInterval: 1_000,
  clusterRetryStrategy: reconnectAfter,
  redisOptions: {
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1_000,
    socketTimeout: 1_000,
  },
} satisfies ClusterOptions;

/** A client for a URL, ours to close. */
export function connect(url: string): Redis {
  if (!isRedisUrl(url)) {
    // It is not shown: it may hold a password.
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "server",
      "must be a URL like redis://127.0.0.1:6379 or redis://user:password@host:6379/2, or an ioredis client",
    );
  }
  return new Redis(url, redisOptions);
}

/** ioredis takes the path for the number of a database, whatever it is. */
function isRedisUrl(url: string): boolean {
  try {
    const { protocol, pathname, username, password } = new URL(url);
    decodeURIComponent(username + password);
    return /^rediss?:$/.test(protocol) && /^\/?\d*$/.test(pathname);
  } catch {
    return false;
  }
}

/** By client, for many stores may share one. */
const troubles = new WeakMap<RedisClient, Error | undefined>();

/**
 * Remembers what goes wrong with the client's connection. With a listener ioredis no longer prints every failed
 * attempt to connect: each call tells its own.
 */
export function watch(client: RedisClient): void {
  if (troubles.has(client)) return;
  troubles.set(client, undefined);
  client.on("error", (error: Error & { readonly lastNodeError?: Error }) => {
    troubles.set(client, error.lastNodeError ?? error);
  });
  client.on("ready", () => {
    if (!isOfDatabase(troubles.get(client))) troubles.set(client, undefined);
  });
}

/** The server has no such database. ioredis then goes on in the first one, where others count. */
function isOfDatabase(trouble: Error | undefined): boolean {
  return trouble?.message.includes("DB index") ?? false;
}

/** Why there is no connection, if that is known. What a call is rejected with says only that there is none. */
export function troubleOf(client: RedisClient): Error | undefined {
  return troubles.get(client);
}

/** Resolves when the client's first connection is there, or has failed: from then on calls tell how it stands. */
export async function firstConnection(client: RedisClient): Promise<void> {
  await connectionOf(client);
  // Left alone it would connect to a node with the first call for it, and refuse those that come meanwhile.
  if (isCluster(client)) await Promise.all(client.nodes("master").map(connectionOf));
}

async function connectionOf(client: RedisClient): Promise<void> {
  if (client.status === "wait") client.connect().catch(() => {});
  if (!["connecting", "connect"].includes(client.status)) return;
  await new Promise<void>((resolve) => {
    for (const event of ["ready", "close", "end"]) client.once(event, () => resolve());
  });
}

/** The connection to the node that has a slot, if the client knows it and has one. */
export function connectionTo(client: Cluster, slot: number): Redis | undefined {
  const address = client.slots[slot]?.[0];
  const node = client.nodes("master").find(({ options: { host, port } }) => `${host}:${port}` === address);
  return node?.status === "ready" || node?.status === "wait" ? node : undefined;
}

/** Sends a command whose reply is bytes. Not by the client's own method for it, which auto-pipelining breaks. */
export async function command(client: RedisClient, name: string, args: (string | number)[]): Promise<unknown> {
  const trouble = troubleOf(client);
  if (isOfDatabase(trouble)) throw trouble;
  const { keyPrefix } = client.options;
  const options = { replyEncoding: null, ...(keyPrefix === undefined ? {} : { keyPrefix }) };
  return client.sendCommand(new Command(name, args, options));
}

export function isCluster(client: RedisClient): client is Cluster {
  return client.isCluster;
}

export function requireClient(client: unknown): asserts client is RedisClient {
  const isClient =
    typeof client === "object" &&
    client !== null &&
    "callBuffer" in client &&
    typeof client.callBuffer === "function" &&
    "isCluster" in client;
  if (!isClient) {
    throw new HeadgateError("HG_BAD_OPTION", "server", `must be a URL or an ioredis client, got ${shown(client)}`);
  }
}

/** The settings of a client that was handed in which may charge a request twice, or keep one waiting without end. */
export function unsafeSettings(client: RedisClient): string[] {
  const { options } = client;
  const redis = isCluster(client) ? (client.options.redisOptions ?? {}) : client.options;
  const cluster: ClusterOptions = isCluster(client) ? client.options : { retryDelayOnFailover: 0 };
  return [
    redis.autoResendUnfulfilledCommands === false ? [] : ["autoResendUnfulfilledCommands should be false"],
    cluster.retryDelayOnFailover === 0 ? [] : ["retryDelayOnFailover should be 0"],
    options.enableOfflineQueue === false ? [] : ["enableOfflineQueue should be false"],
    (redis.socketTimeout ?? 0) > 0 ? [] : ["socketTimeout should be set"],
  ].flat();
}
