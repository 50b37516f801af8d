/** An argument of a command. Buffers may hold any bytes. */
export type RedisArgument = string | Buffer;

/** A connection to one Redis server. */
export interface RedisConnection {
  /**
   * Sends a command and resolves with the reply: strings as Buffers, integers as numbers, and lists of them. Rejects if
   * there is no connection, or if it breaks before the reply; the command must not be sent again then, because Redis may
   * have executed it. An error that Redis replies with is an `Error` with the name `ReplyError` and Redis's message.
   */
  send(command: readonly RedisArgument[]): Promise<unknown>;
  /** Closes a connection whose server does not answer. Pending commands fail, and the client connects again. */
  drop?(): void;
}

/** What a client of a Redis Cluster knows about its nodes. They are named by their address, `host:port`. */
export interface RedisClusterNodes {
  /** The masters. */
  masters(): readonly string[];
  /** The master of a slot, if it is known. */
  masterOf(slot: number): string | undefined;
  /** The connection to a master, if there is one that can be used now. */
  connectionTo(master: string): RedisConnection | undefined;
}

/**
 * The Redis client of a `RedisStore`. ioredis, iovalkey and node-redis clients are adapted automatically. For other
 * clients, implement this interface; only `send` is required.
 */
export interface RedisClient extends RedisConnection {
  /** On a cluster, `key` determines the node, and redirections are followed. Without a key, any node will do. */
  send(command: readonly RedisArgument[], key?: string): Promise<unknown>;
  /** The nodes, if this is the client of a Redis Cluster. */
  readonly cluster?: RedisClusterNodes | undefined;
  /** Resolves when the first attempt to connect has succeeded or failed. */
  connected?(): Promise<void>;
  /** Calls a function whenever a connection was made, and now if there is one. */
  onReady?(listener: () => void): void;
  /** Why there is no connection, if that is known. */
  readonly trouble?: Error | undefined;
  /** Settings of the client that may charge a request twice or delay it, and how to change them. */
  readonly unsafeSettings?: readonly string[] | undefined;
  /** Receives the messages of a channel on a connection of its own, until the returned function is called. */
  subscribe?(channel: string, listener: (message: string) => void): () => void;
  /** Closes the connections when the server has replied to pending commands, and after `graceMs` in any case. */
  close?(graceMs: number): Promise<void>;
}
