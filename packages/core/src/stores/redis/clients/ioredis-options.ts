import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import type { Cluster, ClusterOptions, Redis, RedisOptions } from "ioredis";
import { HeadgateError, shown } from "../../../errors.ts";
import type { RedisAddress } from "../redis-url.ts";

/** Short enough to be back within a second, and long enough not to overload a server that is starting. */
function reconnectAfter(attempts: number): number {
  return Math.min(50 * attempts, 250);
}

/**
 * Connection settings that a `RedisStore` needs: commands are never sent twice, since they may have been charged;
 * commands that cannot be sent fail immediately; and connections to replicas are dropped. The store itself drops those
 * to frozen servers: ioredis would set a timer for each command.
 */
export const redisOptions = {
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // It would wait a second or more for a server that is loading; the server reports that to each call anyway.
  enableReadyCheck: false,
  connectTimeout: 1_000,
  retryStrategy: reconnectAfter,
  reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
} satisfies RedisOptions;

/**
 * `redisOptions` for a cluster. Also prevents ioredis from sending a command to another node when a connection breaks.
 */
export const clusterOptions = {
  enableOfflineQueue: false,
  // As above: a cluster that is down reports it to each call.
  enableReadyCheck: false,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  slotsRefreshTimeout: 500,
  slotsRefreshInterval: 1_000,
  clusterRetryStrategy: reconnectAfter,
  redisOptions: {
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    connectTimeout: 1_000,
  },
} satisfies ClusterOptions;

/** Creates an ioredis client for an address. The caller has to close it. Commands fail if the server does not answer. */
export async function connectRedis(address: RedisAddress): Promise<Redis | Cluster> {
  const tls = address.tls && tlsOptions(address.tls);
  return connect(await import("ioredis"), address, tls, { socketTimeout: 1_000 });
}

/** What is used of the package. */
interface IoredisClasses {
  readonly Redis: typeof Redis;
  readonly Cluster: typeof Cluster;
}

/** The client of a store, which has deadlines of its own. */
export function connect(
  classes: IoredisClasses,
  address: RedisAddress,
  tls: ConnectionOptions | undefined,
  more: { readonly socketTimeout?: number } = {},
): Redis | Cluster {
  const { kind, hosts, username, password, database: db } = address;
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  if (kind === "cluster") {
    return new classes.Cluster([...hosts], {
      ...clusterOptions,
      // A certificate is valid for the host name, not for the address it resolves to.
      ...(tls && { dnsLookup: (host, done) => done(null, host) }),
      redisOptions: { ...clusterOptions.redisOptions, ...more, ...login, ...(tls && { tls }) },
    });
  }
  const options = { ...redisOptions, ...more, ...login, db, ...(tls && { tls }) };
  if (kind === "server") return new classes.Redis({ ...options, ...hosts[0] });
  const { master, sentinelUsername, sentinelPassword } = address;
  return new classes.Redis({
    ...options,
    sentinels: [...hosts],
    ...(master !== undefined && { name: master }),
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    sentinelRetryStrategy: reconnectAfter,
    // Without ioredis's failoverDetector: if a failover happens while the client connects, the client ends for good. A
    // master
    // that was replaced is dropped anyway, because it is silent or reports that it is a replica.
    sentinelCommandTimeout: 1_000,
  });
}

/** The certificates that a URL names. */
export function tlsOptions(files: NonNullable<RedisAddress["tls"]>): ConnectionOptions {
  const options: ConnectionOptions = {};
  for (const name of ["ca", "cert", "key"] as const) {
    const file = files[name];
    if (file === undefined) continue;
    try {
      options[name] = readFileSync(file);
    } catch (cause) {
      const problem = `names the file ${shown(file)}, which cannot be read`;
      throw new HeadgateError("HG_BAD_OPTION", `tls_${name}`, problem, { cause });
    }
  }
  return options;
}
