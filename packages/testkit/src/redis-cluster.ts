import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { eventually } from "./eventually.ts";
import { type RedisServer, type RedisSettings, startRedis } from "./redis-server.ts";

const run = promisify(execFile);

/** Starts a Redis Cluster of six nodes, three masters with a replica each, and answers once all are in step. */
export async function startCluster(
  config: RedisSettings["config"] = {},
  access: Pick<RedisSettings, "password" | "tls"> = {},
): Promise<RedisCluster> {
  const settings = { ...access, config: { "cluster-enabled": "yes", "cluster-node-timeout": "2000", ...config } };
  const cluster = new RedisCluster(await Promise.all(Array.from({ length: 6 }, () => startRedis(settings))));
  try {
    const addresses = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`);
    const [{ cliOptions, cliEnvironment }] = cluster.nodes;
    const command = ["--cluster", "create", ...addresses, "--cluster-replicas", "1", "--cluster-yes"];
    await run("redis-cli", [...cliOptions, ...command], { env: cliEnvironment });
    await cluster.settled();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

export class RedisCluster {
  readonly nodes: readonly RedisServer[];

  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
  }

  /** Where a client begins to look. */
  get addresses(): { host: string; port: number }[] {
    return this.nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  }

  /** All of its nodes in one URL. */
  get url(): string {
    const [{ scheme, login, parameters }] = this.nodes;
    return `${scheme}+cluster://${login}${this.addresses.map(({ port }) => `127.0.0.1:${port}`)}${parameters}`;
  }

  /** The nodes that have slots now, as one that is up sees it. */
  async masters(): Promise<RedisServer[]> {
    const members = await this.members();
    return members.filter(({ slots }) => slots.length > 0).map(({ node }) => node);
  }

  async masterOf(key: string): Promise<RedisServer> {
    const slot = Number(await this.witness().ask("CLUSTER", "KEYSLOT", key));
    const members = await this.members();
    const owner = members.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last));
    if (owner === undefined) throw new Error(`no node has slot ${slot}`);
    return owner.node;
  }

  async replicasOf(master: RedisServer): Promise<RedisServer[]> {
    const members = await this.members();
    const id = members.find(({ node }) => node === master)?.id;
    return members.filter(({ masterId }) => masterId === id).map(({ node }) => node);
  }

  /** Waits until all nodes that are up agree: every slot is served, and each of them has slots or follows one that has. */
  async settled(): Promise<void> {
    await Promise.all(
      this.nodes
        .filter(({ isUp }) => isUp)
        .map((node) => eventually(`port ${node.port} settles`, () => this.isSettledFor(node))),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  private async isSettledFor(node: RedisServer): Promise<boolean> {
    if (!/^cluster_state:ok/m.test(await node.ask("CLUSTER", "INFO"))) return false;
    const members = await this.members(node);
    const masters = members.filter(({ slots }) => slots.length > 0);
    // A node that has not heard of a failover still names the master that is gone.
    if (!masters.every((member) => member.node.isUp)) return false;
    const leaders = new Set(masters.map(({ id }) => id));
    const placed = members.filter(({ id, masterId }) => leaders.has(id) || leaders.has(masterId));
    if (
      leaders.size !== 3 ||
      !this.nodes.every((each) => !each.isUp || placed.some((member) => member.node === each))
    ) {
      return false;
    }
    const role = await node.ask("INFO", "replication");
    return /^role:master/m.test(role) || /^master_link_status:up/m.test(role);
  }

  private witness(): RedisServer {
    const node = this.nodes.find(({ isUp }) => isUp);
    if (node === undefined) throw new Error("no node of the cluster is up");
    return node;
  }

  /** The nodes that have not failed. */
  private async members(asSeenBy = this.witness()): Promise<Member[]> {
    const lines = (await asSeenBy.ask("CLUSTER", "NODES")).split("\n");
    return lines.flatMap((line) => {
      const [id, address, flags, masterId, , , , , ...slots] = line.split(" ");
      const node = this.nodes.find(({ port }) => address.startsWith(`127.0.0.1:${port}@`));
      return node === undefined || flags.split(",").includes("fail")
        ? []
        : [{ id, node, masterId, slots: slots.map(slotRange) }];
    });
  }
}

interface Member {
  readonly id: string;
  readonly node: RedisServer;
  readonly masterId: string;
  readonly slots: readonly (readonly [first: number, last: number])[];
}

function slotRange(text: string): [number, number] {
  const [first, last = first] = text.split("-").map(Number);
  return [first, last];
}
