import type { Clock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { adapted } from "./clients/adapt-client.ts";
import { IoredisByUrl } from "./clients/ioredis-by-url.ts";
import type { RedisClient, RedisConnection } from "./clients/redis-client.ts";
import { slotOf } from "./cluster-slots.ts";
import { isReadOnly } from "./redis-errors.ts";
import { RedisNode } from "./redis-node.ts";
import { parseRedisAddress, type RedisAddress } from "./redis-url.ts";
import { warnOfEviction, warnOfSettings } from "./redis-warnings.ts";

/** The name of a single server. */
const ONLY_NODE = "";

/** How long to wait for what a server says of itself. */
const LOOK_MS = 1_000;

/** How long a single server that turned out to be a cluster node may take to answer calls in flight. */
const GRACE_MS = 1_000;

/** Which client to call, and how many keys to declare. */
export interface Route {
  readonly connection: RedisClient;
  readonly declared: number;
}

/**
 * The servers of a store: which one has a key, and what its time is. A URL may name a server that turns out to be a
 * cluster node; from then on the whole cluster is used. The client is private, so that printing a store does not print
 * its password.
 */
export class RedisServers {
  /** The clock of a single server. Nodes of a cluster have different clocks, so there times are converted. */
  readonly clock: Clock;
  readonly #address: RedisAddress | undefined;
  readonly #onCluster: (client: RedisClient) => void;
  readonly #nodes = new Map<string, RedisNode>();
  #client: RedisClient;
  #connecting: Promise<void> | undefined;
  /** The error of a server that is a replica. It is left after each refusal, so until a call succeeds this is what is wrong. */
  #refusal: Error | undefined;
  #isClosed = false;

  /** `onCluster` is called with the client that replaces the first one if the server is a cluster node. */
  constructor(server: unknown, onCluster: (client: RedisClient) => void) {
    this.#address = typeof server === "string" ? parseRedisAddress(server) : undefined;
    this.#onCluster = onCluster;
    this.#client = this.#address === undefined ? adapted(server) : new IoredisByUrl(this.#address);
    const system = new SystemClock();
    const time = (): Clock => (this.isCluster ? system : this.node(ONLY_NODE).clock);
    this.clock = { now: () => time().now(), sleep: (ms, signal) => system.sleep(ms, signal) };
    this.#open();
  }

  get client(): RedisClient {
    return this.#client;
  }

  get isCluster(): boolean {
    return this.#client.cluster !== undefined;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** What to wait for before the first calls: the first connection, but no later one. */
  get connecting(): Promise<void> | undefined {
    return this.#connecting;
  }

  /** What is wrong with the servers or the connection to them, if anything is. */
  get trouble(): Error | undefined {
    return this.#refusal ?? this.#client.trouble;
  }

  /** Takes note of how a call ended. */
  noteReply(error?: unknown): void {
    if (error === undefined) this.#refusal = undefined;
    else if (error instanceof Error && isReadOnly(error)) this.#refusal = error;
  }

  /** The names of the masters, as far as the client knows. */
  get names(): readonly string[] {
    return this.#client.cluster?.masters() ?? [ONLY_NODE];
  }

  /** The connections to the masters. */
  get masters(): readonly (readonly [name: string, connection: RedisConnection])[] {
    const { cluster } = this.#client;
    if (cluster === undefined) return [[ONLY_NODE, this.#client]];
    return cluster.masters().map((name) => [name, cluster.connectionTo(name) ?? this.#client] as const);
  }

  /** The node to send a key to. Keys of an unknown slot are not sent together with others. */
  nodeOf(key: string): string {
    const { cluster } = this.#client;
    if (cluster === undefined) return ONLY_NODE;
    const slot = slotOf(key);
    return cluster.masterOf(slot) ?? String(slot);
  }

  /** The master of a key, as far as the client knows; empty if unknown, or if there is only one. */
  masterOf(key: string): string {
    return this.#client.cluster?.masterOf(slotOf(key)) ?? ONLY_NODE;
  }

  node(name: string): RedisNode {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const node = new RedisNode(name);
    this.#nodes.set(name, node);
    return node;
  }

  /**
   * In a cluster, requests go to their node directly, so that its time is known. A batch declares no keys, because a
   * redirection would be right for the key that it names and wrong for the others. Requests whose slot has moved are
   * rejected, and then sent alone through the client, which follows redirections.
   */
  route(node: string, keys: readonly string[], requests: number, hasMoved: boolean): Route {
    const { cluster } = this.#client;
    if (cluster === undefined) return { connection: this.#client, declared: keys.length };
    const direct = hasMoved ? undefined : cluster.connectionTo(node);
    return { connection: direct ?? this.#client, declared: requests === 1 ? keys.length : 0 };
  }

  /** Switches to the cluster that the server belongs to; returns false if that is impossible or unnecessary. */
  becomeCluster(): boolean {
    if (this.#isClosed || this.isCluster || this.#address?.kind !== "server" || this.#address.database > 0)
      return false;
    const former = this.#client;
    this.#client = new IoredisByUrl({ ...this.#address, kind: "cluster" });
    this.#open();
    this.#onCluster(this.#client);
    // After the replies to calls in flight.
    void former.close?.(GRACE_MS);
    return true;
  }

  /** Closes the connections that were opened here; see `RedisClient.close`. */
  async close(graceMs: number): Promise<void> {
    if (this.#address === undefined) return;
    this.#isClosed = true;
    await this.#client.close?.(graceMs);
  }

  #open(): void {
    const client = this.#client;
    const isOurs = this.#address !== undefined;
    if (!isOurs) warnOfSettings(client);
    warnOfEviction(client);
    // Also for a server that becomes available later.
    if (isOurs && !this.isCluster) client.onReady?.(() => this.#connecting ?? this.#look(client));
    const connecting = this.#connect(client).then(() => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    });
    this.#connecting = connecting;
  }

  async #connect(client: RedisClient): Promise<void> {
    await client.connected?.();
    if (this.#address !== undefined && client.cluster === undefined) await this.#look(client);
    // In that case, calls wait for the cluster's first connection.
    if (client !== this.#client) await this.#client.connected?.();
  }

  /** Finds out whether a server is a cluster node. Without the permission, the first key on another node reveals it. */
  async #look(client: RedisClient): Promise<void> {
    if (client !== this.#client) return;
    const patience = new Promise<string>((resolve) => {
      setTimeout(() => resolve(""), LOOK_MS).unref();
    });
    const about = await Promise.race([client.send(["INFO", "cluster"]).then(String, () => ""), patience]);
    if (/^cluster_enabled:1/m.test(about) && client === this.#client) this.becomeCluster();
  }
}
