import type { RedisArgument, RedisClient, RedisClusterNodes, RedisConnection } from "./redis-client.ts";

/** What is used of a client made by `createClient` of the package `redis`. */
export interface NodeRedis {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options?: { readonly disableOfflineQueue?: boolean } | undefined;
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(): NodeRedis;
  sendCommand(args: readonly RedisArgument[], options?: ReplyOptions): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => unknown): Promise<void>;
  unsubscribe(channel: string, listener: (message: string) => unknown): Promise<void>;
  on(event: string, listener: (error: Error) => void): unknown;
}

/** What is used of a client made by `createCluster` of the package `redis`. */
export interface NodeRedisCluster {
  readonly isOpen: boolean;
  readonly slots: readonly ({ readonly master: NodeRedisMaster } | undefined)[];
  readonly masters: readonly NodeRedisMaster[];
  connect(): Promise<unknown>;
  destroy(): void;
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: RedisArgument[],
    options?: ReplyOptions,
  ): Promise<unknown>;
  subscribe(channel: string, listener: (message: string | Buffer) => unknown): Promise<void>;
  unsubscribe(channel: string, listener: (message: string | Buffer) => unknown): Promise<void>;
  on(event: string, listener: (error: Error) => void): unknown;
}

interface NodeRedisMaster {
  readonly address: string;
  readonly client?: NodeRedis | undefined;
}

/** By the first byte of a reply. */
type ReplyOptions = { typeMapping?: { 36?: typeof Buffer } };

/** Strings of replies as bytes. */
const BYTES: ReplyOptions = { typeMapping: { 36: Buffer } };

export function isNodeRedis(client: object): client is NodeRedis {
  return "isReady" in client && "sendCommand" in client && "duplicate" in client && !("masters" in client);
}

export function isNodeRedisCluster(client: object): client is NodeRedisCluster {
  return "masters" in client && "slots" in client && "sendCommand" in client;
}

const adapted = new WeakMap<NodeRedis | NodeRedisCluster, RedisClient>();

/** The adapter of a client. Many stores may share a client, and together they listen to it once. */
export function nodeRedisClient(client: NodeRedis | NodeRedisCluster): RedisClient {
  const known = adapted.get(client);
  if (known !== undefined) return known;
  const made = isNodeRedisCluster(client) ? new NodeRedisClusterClient(client) : new NodeRedisClient(client);
  adapted.set(client, made);
  return made;
}

class NodeRedisConnection implements RedisConnection {
  // Private, so that printing a store does not print the password.
  readonly #client: NodeRedis;

  constructor(client: NodeRedis) {
    this.#client = client;
  }

  send(command: readonly RedisArgument[]): Promise<unknown> {
    return this.#client.sendCommand(command, BYTES).catch(asReplyError);
  }

  drop(): void {
    // A connection that is being made must not be joined by a second one.
    if (!this.#client.isReady) return;
    this.#client.destroy();
    this.#client.connect().catch(() => {});
  }
}

class NodeRedisClient extends NodeRedisConnection implements RedisClient {
  readonly #client: NodeRedis;
  #trouble: Error | undefined;
  #listening: NodeRedis | undefined;
  #channels = 0;
  readonly #onReady: (() => void)[] = [];

  constructor(client: NodeRedis) {
    super(client);
    this.#client = client;
    client.on("error", (error) => {
      this.#trouble = error;
    });
    client.on("ready", () => {
      this.#trouble = undefined;
      for (const listener of this.#onReady) listener();
    });
  }

  get trouble(): Error | undefined {
    return this.#trouble;
  }

  get unsafeSettings(): readonly string[] {
    return this.#client.options?.disableOfflineQueue === true ? [] : ["disableOfflineQueue should be true"];
  }

  onReady(listener: () => void): void {
    this.#onReady.push(listener);
    if (this.#client.isReady) listener();
  }

  async connected(): Promise<void> {
    const client = this.#client;
    if (client.isReady) return;
    const ended = new Promise<void>((resolve) => {
      for (const event of ["ready", "error", "end"]) client.on(event, () => resolve());
    });
    if (!client.isOpen) client.connect().catch(() => {});
    await ended;
  }

  subscribe(channel: string, listener: (message: string) => void): () => void {
    const listening = this.#listener();
    this.#channels += 1;
    listening.subscribe(channel, listener).catch(() => {});
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#channels -= 1;
      if (this.#channels > 0) {
        listening.unsubscribe(channel, listener).catch(() => {});
        return;
      }
      if (listening.isOpen) listening.destroy();
      this.#listening = undefined;
    };
  }

  /** The connection that listens, while there is a channel to listen to. It subscribes again after it was lost. */
  #listener(): NodeRedis {
    if (this.#listening === undefined) {
      this.#listening = this.#client.duplicate();
      this.#listening.on("error", () => {});
      this.#listening.connect().catch(() => {});
    }
    return this.#listening;
  }
}

class NodeRedisClusterClient implements RedisClient {
  readonly cluster: RedisClusterNodes;
  readonly #client: NodeRedisCluster;
  #trouble: Error | undefined;
  #connecting: Promise<void> | undefined;

  constructor(client: NodeRedisCluster) {
    this.#client = client;
    this.cluster = new NodeRedisNodes(client);
    client.on("error", (error) => {
      this.#trouble = error;
    });
  }

  get trouble(): Error | undefined {
    return this.#trouble;
  }

  send(command: readonly RedisArgument[], key?: string): Promise<unknown> {
    return this.#client.sendCommand(key, false, [...command], BYTES).catch(asReplyError);
  }

  onReady(listener: () => void): void {
    void this.connected().then(listener);
  }

  connected(): Promise<void> {
    this.#connecting ??= this.#connect();
    return this.#connecting;
  }

  subscribe(channel: string, listener: (message: string) => void): () => void {
    const hear = (message: string | Buffer): void => listener(String(message));
    void this.connected().then(() => this.#client.subscribe(channel, hear).catch(() => {}));
    return () => void this.#client.unsubscribe(channel, hear).catch(() => {});
  }

  async #connect(): Promise<void> {
    const client = this.#client;
    if (!client.isOpen)
      await client.connect().catch((error: Error) => {
        this.#trouble = error;
      });
    // A caller of connect() may still be waiting for it.
    const patience = Date.now() + CONNECT_MS;
    while (client.slots.length === 0 && Date.now() < patience) await new Promise((resolve) => setTimeout(resolve, 10));
    await Promise.all(client.masters.map((master) => master.client && nodeRedisClient(master.client).connected?.()));
  }
}

const CONNECT_MS = 1_000;

class NodeRedisNodes implements RedisClusterNodes {
  readonly #client: NodeRedisCluster;

  constructor(client: NodeRedisCluster) {
    this.#client = client;
  }

  masters(): readonly string[] {
    return this.#client.masters.map(({ address }) => address);
  }

  masterOf(slot: number): string | undefined {
    return this.#client.slots[slot]?.master.address;
  }

  connectionTo(master: string): RedisConnection | undefined {
    const client = this.#client.masters.find(({ address }) => address === master)?.client;
    return client?.isReady ? nodeRedisClient(client) : undefined;
  }
}

/** An error that Redis replied with begins with a word in capitals. Others are of the client itself. */
function asReplyError(error: unknown): never {
  if (error instanceof Error && /^[A-Z]+ /.test(error.message)) error.name = "ReplyError";
  throw error;
}
