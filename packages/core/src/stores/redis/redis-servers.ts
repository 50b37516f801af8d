import type { Clock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { ServerClock } from "../server-clock.ts";
import { slotOf } from "./cluster-slots.ts";
import { parseRedisAddress, type RedisAddress } from "./redis-address.ts";
import {
  asCluster,
  connect,
  connectionTo,
  firstConnection,
  isCluster,
  type RedisClient,
  unsafeSettings,
  watch,
} from "./redis-connection.ts";
import { warnOfServer } from "./redis-warnings.ts";

/** The name of a single server. */
const ONLY_NODE = "";

/** Which client to call, and how many keys to declare. */
export interface Route {
  readonly server: RedisClient;
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
  /** By node. */
  readonly #clocks = new Map<string, ServerClock>();
  #client: RedisClient;
  #connecting: Promise<void> | undefined;
  #isClosed = false;

  /** `onCluster` is called with the client that replaces the first one if the server is a cluster node. */
  constructor(server: string | RedisClient, onCluster: (client: RedisClient) => void) {
    this.#address = typeof server === "string" ? parseRedisAddress(server) : undefined;
    this.#onCluster = onCluster;
    this.#client = typeof server === "string" ? connect(parseRedisAddress(server)) : server;
    const system = new SystemClock();
    const time = (): Clock => (this.isCluster ? system : this.clockOf(ONLY_NODE));
    this.clock = { now: () => time().now(), sleep: (ms, signal) => system.sleep(ms, signal) };
    this.#open();
  }

  get client(): RedisClient {
    return this.#client;
  }

  get isCluster(): boolean {
    return isCluster(this.#client);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** What to wait for before the first calls: the first connection, but no later one. */
  get connecting(): Promise<void> | undefined {
    return this.#connecting;
  }

  /** The masters. */
  get masters(): readonly RedisClient[] {
    return isCluster(this.#client) ? this.#client.nodes("master") : [this.#client];
  }

  /** The names of the masters, as far as the client knows. */
  get names(): readonly string[] {
    const client = this.#client;
    if (!isCluster(client)) return [ONLY_NODE];
    const names = new Set<string>();
    for (const slot of client.slots) if (slot !== undefined) names.add(slot[0]);
    return [...names];
  }

  /** The node to send a key to. Keys of an unknown slot are not sent together with others. */
  nodeOf(key: string): string {
    return isCluster(this.#client) ? this.masterOf(key) || String(slotOf(key)) : ONLY_NODE;
  }

  /** The master of a key, as far as the client knows; empty if unknown, or if there is only one. */
  masterOf(key: string): string {
    return (isCluster(this.#client) && this.#client.slots[slotOf(key)]?.[0]) || ONLY_NODE;
  }

  /** The name of a server in the client's slot map. */
  nameOf(server: RedisClient): string {
    if (!this.isCluster || isCluster(server)) return ONLY_NODE;
    return `${server.options.host}:${server.options.port}`;
  }

  clockOf(node: string): ServerClock {
    const known = this.#clocks.get(node);
    if (known !== undefined) return known;
    const clock = new ServerClock();
    this.#clocks.set(node, clock);
    return clock;
  }

  /**
   * In a cluster requests go to their node directly, so that its time is known; a batch declares no keys, for to
   * follow a redirection would be right for the key that it is about, and wrong for the others. What has moved comes
   * back, and is sent alone by the client, which follows it.
   */
  route(keys: readonly string[], requests: number, hasMoved: boolean): Route {
    const client = this.#client;
    if (!isCluster(client)) return { server: client, declared: keys.length };
    const direct = hasMoved ? undefined : connectionTo(client, slotOf(keys[0]));
    return { server: direct ?? client, declared: requests === 1 ? keys.length : 0 };
  }

  /** Switches to the cluster that the server belongs to; returns false if that is impossible or unnecessary. */
  becomeCluster(): boolean {
    if (this.#isClosed || this.isCluster || this.#address?.kind !== "server" || this.#address.database > 0)
      return false;
    const former = this.#client;
    this.#client = connect(asCluster(this.#address));
    this.#open();
    this.#onCluster(this.#client);
    // After the replies to calls in flight.
    void end(former);
    return true;
  }

  /** Closes the connections that were opened here. */
  async close(): Promise<void> {
    if (this.#address === undefined) return;
    this.#isClosed = true;
    await end(this.#client);
  }

  #open(): void {
    const client = this.#client;
    watch(client);
    const isOurs = this.#address !== undefined;
    warnOfServer(client, isOurs ? [] : unsafeSettings(client));
    // Also for a server that becomes available later.
    if (isOurs && !isCluster(client)) client.on("ready", () => this.#connecting ?? this.#look(client));
    const connecting = this.#connect(client).then(() => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    });
    this.#connecting = connecting;
  }

  async #connect(client: RedisClient): Promise<void> {
    await firstConnection(client);
    if (this.#address !== undefined && !isCluster(client)) await this.#look(client);
    // In that case, calls wait for the cluster's first connection.
    if (client !== this.#client) await firstConnection(this.#client);
  }

  /** Finds out whether a server is a cluster node. Without the permission, the first key on another node reveals it. */
  async #look(client: RedisClient): Promise<void> {
    if (client.status !== "ready" || client !== this.#client) return;
    const about = await client.call("info", "cluster").then(String, () => "");
    if (/^cluster_enabled:1/m.test(about) && client === this.#client) this.becomeCluster();
  }
}

async function end(client: RedisClient): Promise<void> {
  await client.quit().catch(() => {});
  client.disconnect();
}
