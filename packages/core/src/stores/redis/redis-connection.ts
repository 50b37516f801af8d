import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { Cluster, type ClusterOptions, Command, Redis, type RedisOptions } from "ioredis";
import { HeadgateError, StoreError, shown } from "../../errors.ts";
import type { RedisAddress } from "./redis-address.ts";
import { isReadOnly, refusal } from "./redis-errors.ts";

/** An ioredis client. */
export type RedisClient = Redis | Cluster;

/** Short enough to be back within a second, and long enough not to overload a server that is starting. */
function reconnectAfter(attempts: number): number {
  return Math.min(50 * attempts, 250);
}

/**
 * Connection settings that a `RedisStore` needs: commands are never sent twice, since they may have been charged;
 * commands that cannot be sent fail immediately; and connections to frozen servers and to replicas are dropped.
 */
export const redisOptions = {
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // It would wait a second or more for a server that is loading; the server reports that to each call anyway.
  enableReadyCheck: false,
  connectTimeout: 1_000,
  socketTimeout: 1_000,
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
    connectTimeout: 1_000,
    socketTimeout: 1_000,
  },
} satisfies ClusterOptions;

/** Creates a client for an address. The caller has to close it. */
export function connect(address: RedisAddress): RedisClient {
  const { kind, hosts, username, password, database: db, tls: files } = address;
  const tls = files && tlsOptions(files);
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  if (kind === "cluster") {
    return new Cluster([...hosts], {
      ...clusterOptions,
      // A certificate is valid for the host name, not for the address it resolves to.
      ...(tls && { dnsLookup: (host, done) => done(null, host) }),
      redisOptions: { ...clusterOptions.redisOptions, ...login, ...(tls && { tls }) },
    });
  }
  const options = { ...redisOptions, ...login, db, ...(tls && { tls }) };
  if (kind === "server") return new Redis({ ...options, ...hosts[0] });
  const { master, sentinelUsername, sentinelPassword } = address;
  return new Redis({
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

/** The same servers, for a cluster client. */
export function asCluster(address: RedisAddress): RedisAddress {
  return { ...address, kind: "cluster" };
}

function tlsOptions(files: NonNullable<RedisAddress["tls"]>): ConnectionOptions {
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

/** The state of a client. Stores that share a client share its listeners. */
interface Watched {
  trouble: Error | undefined;
  /** While waiting for the first connection. */
  connected: Promise<void> | undefined;
  /** Callbacks for when it is ready. */
  readonly waiting: (() => void)[];
}

const watched = new WeakMap<RedisClient, Watched>();

/**
 * Records problems of the client's connection. With a listener, ioredis no longer prints every failed attempt to
 * connect:
 * each call reports its own.
 */
export function watch(client: RedisClient): void {
  if (watched.has(client)) return;
  const known: Watched = { trouble: undefined, connected: undefined, waiting: [] };
  watched.set(client, known);
  client.on("error", (error: Error & { readonly lastNodeError?: Error }) => {
    // "All sentinels are unreachable" may hide sentinels that have answered.
    if (!(known.trouble instanceof StoreError)) known.trouble = error.lastNodeError ?? error;
  });
  client.on("sentinelError", (error: Error) => {
    known.trouble = sentinelTrouble(error, client) ?? error;
  });
  client.on("ready", () => {
    if (!outlastsConnection(known.trouble)) known.trouble = undefined;
    for (const then of known.waiting.splice(0)) then();
  });
}

/** Calls a function once a watched client is ready. */
export function whenReady(client: RedisClient, then: () => void): void {
  if (client.status === "ready") then();
  else watched.get(client)?.waiting.push(then);
}

/** A sentinel that answers with a permanent error has rejected the client. */
function sentinelTrouble({ message }: Error, { options }: RedisClient): StoreError | undefined {
  const name = "name" in options ? shown(options.name) : "";
  if (/invalid reply|No such master/.test(message)) return refusal(`the sentinels do not know a master called ${name}`);
  const word = /\b(NOAUTH|WRONGPASS|NOPERM)\b.*/.exec(message);
  return word === null ? undefined : refusal(`a sentinel says: ${word[0]}`);
}

/**
 * Whether a problem persists although there is a connection. If the server lacks the database, ioredis continues in the
 * first one, where others count. A replica is dropped after each rejection, so it is the problem until a call succeeds.
 */
function outlastsConnection(trouble: Error | undefined): boolean {
  return isOfDatabase(trouble) || isReadOnly(trouble);
}

function isOfDatabase(trouble: Error | undefined): boolean {
  return /DB index|SELECT is not allowed/.test(trouble?.message ?? "");
}

/** Records how a call ended. */
export function noteReply(client: RedisClient, error?: unknown): void {
  const known = watched.get(client);
  if (known === undefined) return;
  if (error instanceof Error && isReadOnly(error)) known.trouble = error;
  else if (error === undefined && isReadOnly(known.trouble)) known.trouble = undefined;
}

/** Why there is no connection, if known. The error of a call only says that there is none. */
export function troubleOf(client: RedisClient): Error | undefined {
  return watched.get(client)?.trouble;
}

/** Resolves when the client's first connection is open or has failed; from then on, calls report the state. */
export function firstConnection(client: RedisClient): Promise<void> {
  const known = watched.get(client);
  if (known === undefined) return connections(client);
  known.connected ??= connections(client).finally(() => {
    known.connected = undefined;
  });
  return known.connected;
}

async function connections(client: RedisClient): Promise<void> {
  await connectionOf(client);
  // By default it would connect to a node with the first call for it, and reject calls in the meantime.
  if (isCluster(client)) await Promise.all(client.nodes("master").map(connectionOf));
}

async function connectionOf(client: RedisClient): Promise<void> {
  if (client.status === "wait") client.connect().catch(() => {});
  if (!["connecting", "connect"].includes(client.status)) return;
  await new Promise<void>((resolve) => {
    const events = ["ready", "close", "end", ...(hasSentinels(client) ? ["error"] : [])];
    const done = (): void => {
      for (const event of events) client.off(event, done);
      resolve();
    };
    for (const event of events) client.on(event, done);
  });
}

/** A client that finds no sentinel retries forever and does not close. */
function hasSentinels({ options }: RedisClient): boolean {
  return "sentinels" in options && (options.sentinels?.length ?? 0) > 0;
}

/** The connection to the node of a slot, if the client has one. */
export function connectionTo(client: Cluster, slot: number): Redis | undefined {
  const address = client.slots[slot]?.[0];
  const node = client.nodes("master").find(({ options: { host, port } }) => `${host}:${port}` === address);
  return node?.status === "ready" || node?.status === "wait" ? node : undefined;
}

/** Sends a command whose reply is binary. The client's own method for that breaks with auto-pipelining. */
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

/** Settings of a user's client that may charge a request twice or make one wait forever. */
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
