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

/** The name of the one server, where there is no cluster. */
const ONLY_NODE = "";

/** Whom to call, and how many keys to declare. */
export interface Route {
  readonly server: RedisClient;
  readonly declared: number;
}

/**
 * The server or the servers of a store: which of them has a key, and what time it is there. A URL may name a server
 * that turns out to be a node of a cluster; from then on the whole cluster is used. The client is private, so that
 * nobody who prints a store prints its password.
 */
export class RedisServers {
  /** The time of the one server; the nodes of a cluster each have another, and what is said by ours is put into theirs. */
  readonly clock: Clock;
  readonly #address: RedisAddress | undefined;
  readonly #onCluster: (client: RedisClient) => void;
  /** Of each node. */
  readonly #clocks = new Map<string, ServerClock>();
  #client: RedisClient;
  #connecting: Promise<void> | undefined;
  #isClosed = false;

  /** `onCluster` is told of the client that takes the place of the first one, if the server is a node of a cluster. */
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

  /** What to wait for before the first calls are sent: the first connection, and no later one. */
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

  /** Which node to send a key to: those of an unknown slot go together with no others. */
  nodeOf(key: string): string {
    return isCluster(this.#client) ? this.masterOf(key) || String(slotOf(key)) : ONLY_NODE;
  }

  /** The master that has a key, as far as the client knows; empty if it does not, or if there is only one. */
  masterOf(key: string): string {
    return (isCluster(this.#client) && this.#client.slots[slotOf(key)]?.[0]) || ONLY_NODE;
  }

  /** What a server is called here: as the client's map of slots has it. */
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

  /** Takes up a cluster of which the one server is a node; false if it cannot, or need not. */
  becomeCluster(): boolean {
    if (this.#isClosed || this.isCluster || this.#address?.kind !== "server" || this.#address.database > 0)
      return false;
    const former = this.#client;
    this.#client = connect(asCluster(this.#address));
    this.#open();
    this.#onCluster(this.#client);
    // After the replies to what is under way.
    void end(former);
    return true;
  }

  /** Closes the connections that were made here. */
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
    // Also of a server that is there only later.
    if (isOurs && !isCluster(client)) client.on("ready", () => this.#connecting ?? this.#look(client));
    const connecting = this.#connect(client).then(() => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    });
    this.#connecting = connecting;
  }

  async #connect(client: RedisClient): Promise<void> {
    await firstConnection(client);
    if (this.#address !== undefined && !isCluster(client)) await this.#look(client);
    // Then it is the cluster's first connection that calls wait for.
    if (client !== this.#client) await firstConnection(this.#client);
  }

  /** Finds out whether a server is a node of a cluster. Who may not ask is told by the first key that is elsewhere. */
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
