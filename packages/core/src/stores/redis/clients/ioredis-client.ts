import type { Cluster, ClusterOptions, Command, Redis } from "ioredis";
import { HeadgateError, StoreError, shown } from "../../../errors.ts";
import { refusal } from "../redis-errors.ts";
import { encodeCommand } from "./encode-command.ts";
import type { RedisArgument, RedisClient, RedisClusterNodes, RedisConnection } from "./redis-client.ts";

/** A client of ioredis, or of iovalkey, which is derived from it. */
type Ioredis = Redis | Cluster;

/** Properties by which such a client is recognized. */
export interface IoredisLike {
  readonly isCluster: boolean;
  readonly status: string;
  callBuffer(command: string): unknown;
}

export function isIoredis(client: object): client is Ioredis {
  return "isCluster" in client && "callBuffer" in client && typeof client.callBuffer === "function";
}

function isCluster(client: Ioredis): client is Cluster {
  return client.isCluster;
}

const adapted = new WeakMap<Ioredis, IoredisClient>();

/** The adapter of a client. Many stores may share a client, and together they listen to it once. */
export function ioredisClient(client: Redis | Cluster): RedisClient {
  const known = adapted.get(client) ?? new IoredisClient(client);
  adapted.set(client, known);
  return known;
}

/** The client is private, so that printing a store does not print the password. */
class IoredisClient implements RedisClient {
  readonly cluster: RedisClusterNodes | undefined;
  readonly #client: Ioredis;
  readonly #connection: RedisConnection;
  #trouble: Error | undefined;
  #connecting: Promise<void> | undefined;
  #listening: IoredisListener | undefined;
  readonly #onReady: (() => void)[] = [];

  constructor(client: Ioredis) {
    if (isCluster(client)) requireNoKeyPrefix(client.options.keyPrefix);
    this.#client = client;
    this.cluster = isCluster(client) ? new ClusterNodes(client) : undefined;
    this.#connection = connectionOf(client);
    watchHandshakes(client);
    // With a listener, ioredis does not print every failed attempt to connect: each call reports its own error.
    client.on("error", (error: Error & { readonly lastNodeError?: Error }) => {
      // Behind "all sentinels are unreachable" may be sentinels that have answered.
      if (!(this.#trouble instanceof StoreError)) this.#trouble = error.lastNodeError ?? error;
    });
    client.on("sentinelError", (error: Error) => {
      this.#trouble = sentinelTrouble(error, client) ?? error;
    });
    client.on("ready", () => {
      if (!isOfDatabase(this.#trouble)) this.#trouble = undefined;
      for (const listener of this.#onReady) listener();
    });
  }

  get trouble(): Error | undefined {
    return this.#trouble;
  }

  get unsafeSettings(): readonly string[] {
    return unsafeSettings(this.#client);
  }

  send(command: readonly RedisArgument[], _key?: string): Promise<unknown> {
    if (this.#trouble !== undefined && isOfDatabase(this.#trouble)) return Promise.reject(this.#trouble);
    return this.#connection.send(command);
  }

  drop(): void {
    this.#connection.drop?.();
  }

  onReady(listener: () => void): void {
    this.#onReady.push(listener);
    if (this.#client.status === "ready") listener();
  }

  connected(): Promise<void> {
    this.#connecting ??= connections(this.#client).finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  subscribe(channel: string, listener: (message: string) => void): () => void {
    this.#listening ??= new IoredisListener(this.#client);
    return this.#listening.subscribe(channel, listener);
  }

  async close(graceMs: number): Promise<void> {
    const client = this.#client;
    // A server that is frozen answers no QUIT.
    const patience = setTimeout(() => client.disconnect(), graceMs);
    await client.quit().catch(() => {});
    clearTimeout(patience);
    client.disconnect();
  }
}

/** The connection that listens, while there is a channel to listen to. */
class IoredisListener {
  readonly #client: Ioredis;
  #listening: Ioredis | undefined;
  readonly #listeners = new Map<string, Set<(message: string) => void>>();

  constructor(client: Ioredis) {
    this.#client = client;
  }

  subscribe(channel: string, listener: (message: string) => void): () => void {
    const listening = this.#connection();
    const known = this.#listeners.get(channel);
    if (known === undefined) {
      this.#listeners.set(channel, new Set([listener]));
      listening.subscribe(channel).catch(() => {});
    } else known.add(listener);
    return () => this.#leave(channel, listener);
  }

  #leave(channel: string, listener: (message: string) => void): void {
    const known = this.#listeners.get(channel);
    if (!known?.delete(listener) || known.size > 0) return;
    this.#listeners.delete(channel);
    if (this.#listeners.size > 0) {
      this.#listening?.unsubscribe(channel).catch(() => {});
      return;
    }
    this.#listening?.disconnect();
    this.#listening = undefined;
  }

  #connection(): Ioredis {
    if (this.#listening !== undefined) return this.#listening;
    const client = this.#client;
    // Can subscribe before it is connected, and subscribes again whenever it reconnects.
    const listening = isCluster(client)
      ? client.duplicate([], { enableOfflineQueue: true })
      : client.duplicate({ enableOfflineQueue: true, autoResubscribe: true, maxRetriesPerRequest: null });
    listening.on("error", () => {});
    listening.on("message", (channel: string, message: string) => {
      for (const hear of this.#listeners.get(channel) ?? []) hear(message);
    });
    this.#listening = listening;
    return listening;
  }
}

/** A server that is frozen takes connections, and then says nothing: it may have been replaced meanwhile. */
const HANDSHAKE_MS = 1_000;

function watchHandshakes(client: Ioredis): void {
  if (isCluster(client)) {
    for (const node of client.nodes("all")) watchHandshakes(node);
    client.on("+node", (node: Redis) => watchHandshakes(node));
    return;
  }
  // With its own ready check a client may wait for longer, for a server that loads its data.
  if (client.options.enableReadyCheck) return;
  client.on("connect", () => {
    const { stream } = client;
    const late = (): void => {
      if (client.stream === stream && client.status === "connect") stream.destroy(new Error("handshake timed out"));
    };
    setTimeout(late, HANDSHAKE_MS).unref();
  });
}

class ClusterNodes implements RedisClusterNodes {
  readonly #client: Cluster;

  constructor(client: Cluster) {
    this.#client = client;
  }

  masters(): readonly string[] {
    const masters = new Set<string>();
    for (const slot of this.#client.slots) if (slot !== undefined) masters.add(slot[0]);
    return [...masters];
  }

  masterOf(slot: number): string | undefined {
    return this.#client.slots[slot]?.[0];
  }

  connectionTo(master: string): RedisConnection | undefined {
    const node = this.#client.nodes("master").find(({ options: { host, port } }) => `${host}:${port}` === master);
    return node?.status === "ready" || node?.status === "wait" ? connectionOf(node) : undefined;
  }
}

const connectionsOf = new WeakMap<Ioredis, RedisConnection>();

function connectionOf(client: Ioredis): RedisConnection {
  const known = connectionsOf.get(client) ?? new IoredisConnection(client);
  connectionsOf.set(client, known);
  return known;
}

class IoredisConnection implements RedisConnection {
  readonly #client: Ioredis;
  readonly #EncodedCommand: EncodedCommandClass;
  /** Whether the client itself looks at the arguments: for their slot, or to put a prefix before the keys. */
  readonly #readsArguments: boolean;

  constructor(client: Ioredis) {
    this.#client = client;
    this.#EncodedCommand = encodedCommandOf(client);
    this.#readsArguments = isCluster(client) || (client.options.keyPrefix ?? "") !== "";
  }

  send(command: readonly RedisArgument[]): Promise<unknown> {
    const client = this.#client;
    // Not by the client's own method for it, which auto-pipelining breaks.
    return replyTo(client.sendCommand(new this.#EncodedCommand(command, client.options, this.#readsArguments)));
  }

  drop(): void {
    const client = this.#client;
    // With an error, as ioredis itself does it for its socketTimeout.
    if (!isCluster(client) && client.status === "ready")
      client.stream?.destroy(new Error("the server did not answer in time: timed out"));
  }
}

/** ioredis declares the type `unknown`; the value is the command's promise. */
function replyTo(sent: unknown): Promise<unknown> {
  return Promise.resolve(sent);
}

type EncodedCommandClass = new (
  command: readonly RedisArgument[],
  options: { readonly keyPrefix?: string | undefined },
  readsArguments: boolean,
) => Command;

const encodedCommands = new WeakMap<typeof Command, EncodedCommandClass>();

/** ioredis and iovalkey each have a class of their own, and so may two versions of them. */
function encodedCommandOf(client: Ioredis): EncodedCommandClass {
  const Base = commandClassOf(client);
  const known = encodedCommands.get(Base);
  if (known !== undefined) return known;
  class EncodedCommand extends Base {
    private readonly encoded: Buffer | undefined;

    constructor(
      command: readonly RedisArgument[],
      { keyPrefix }: { readonly keyPrefix?: string | undefined },
      readsArguments: boolean,
    ) {
      super(String(command[0]), readsArguments ? command.slice(1) : [], keyPrefix ? { ...BYTES, keyPrefix } : BYTES);
      this.encoded = keyPrefix ? undefined : encodeCommand(command);
    }

    override toWritable(socket: object): string | Buffer {
      return this.encoded ?? super.toWritable(socket);
    }
  }
  encodedCommands.set(Base, EncodedCommand);
  return EncodedCommand;
}

/** Replies as bytes. */
const BYTES = { replyEncoding: null };

/** A client does not expose the class, but the commands that it sends do. This command is not sent to a server. */
function commandClassOf(client: Ioredis): typeof Command {
  let sent: unknown;
  const sendCommand = (command: Command): Promise<void> => {
    sent = command.constructor;
    return Promise.resolve();
  };
  const probe: Ioredis = Object.create(client, { sendCommand: { value: sendCommand }, options: { value: {} } });
  void probe.callBuffer("PING");
  if (!isCommandClass(sent)) throw new Error("this client sends no commands: use ioredis 5.9.2 or newer, or iovalkey");
  return sent;
}

function isCommandClass(value: unknown): value is typeof Command {
  return typeof value === "function" && "checkFlag" in value;
}

async function connections(client: Ioredis): Promise<void> {
  await firstConnection(client);
  // By default it would connect to a node with the first call for it, and reject calls in the meantime.
  if (isCluster(client)) await Promise.all(client.nodes("master").map(firstConnection));
}

async function firstConnection(client: Ioredis): Promise<void> {
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
function hasSentinels({ options }: Ioredis): boolean {
  return "sentinels" in options && (options.sentinels?.length ?? 0) > 0;
}

/** A sentinel that answers with a permanent error has rejected the client. */
function sentinelTrouble({ message }: Error, { options }: Ioredis): StoreError | undefined {
  const name = "name" in options ? shown(options.name) : "";
  if (/invalid reply|No such master/.test(message)) return refusal(`the sentinels do not know a master called ${name}`);
  const word = /\b(NOAUTH|WRONGPASS|NOPERM)\b.*/.exec(message);
  return word === null ? undefined : refusal(`a sentinel says: ${word[0]}`);
}

/** Where the server has no such database, ioredis goes on in the first one, where others count. */
function isOfDatabase(trouble: Error | undefined): boolean {
  return /DB index|SELECT is not allowed/.test(trouble?.message ?? "");
}

/** ioredis adds the prefix only to declared keys. */
function requireNoKeyPrefix(keyPrefix: string | undefined): void {
  if (keyPrefix !== undefined && keyPrefix !== "") {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "server",
      "must not have a keyPrefix on a cluster: use the store's own prefix option",
    );
  }
}

/** Settings of a user's client that may charge a request twice or make one wait forever. */
function unsafeSettings(client: Ioredis): string[] {
  const { options } = client;
  const redis = isCluster(client) ? (client.options.redisOptions ?? {}) : client.options;
  const cluster: ClusterOptions = isCluster(client) ? client.options : { retryDelayOnFailover: 0 };
  return [
    redis.autoResendUnfulfilledCommands === false ? [] : ["autoResendUnfulfilledCommands should be false"],
    cluster.retryDelayOnFailover === 0 ? [] : ["retryDelayOnFailover should be 0"],
    options.enableOfflineQueue === false ? [] : ["enableOfflineQueue should be false"],
  ].flat();
}
