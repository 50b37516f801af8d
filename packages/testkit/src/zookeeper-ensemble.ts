import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { ZooKeeperServer } from "./zookeeper-server.ts";

const SERVERS = 3;

/** Starts three ZooKeepers that have chosen one to lead them. */
export async function startEnsemble(): Promise<ZooKeeperEnsemble> {
  for (let attempt = 1; ; attempt += 1) {
    const ensemble = await ZooKeeperEnsemble.configured();
    try {
      for (const server of ensemble.servers) server.launch();
      await ensemble.settled();
      return ensemble;
    } catch (error) {
      await ensemble.stop();
      // Another test may have been quicker to take a port.
      if (attempt === 2) throw error;
    }
  }
}

export class ZooKeeperEnsemble {
  readonly servers: readonly ZooKeeperServer[];

  private constructor(servers: readonly ZooKeeperServer[]) {
    this.servers = servers;
  }

  static async configured(): Promise<ZooKeeperEnsemble> {
    const ports: number[] = [];
    while (ports.length < 2 * SERVERS) {
      const port = await freePort();
      if (!ports.includes(port)) ports.push(port);
    }
    const members = Array.from({ length: SERVERS }, (_, i) => i + 1);
    // The port that free-port.ts holds free besides, 10,000 above, is for the election.
    const lines = members.map((id) => {
      const quorum = ports[SERVERS + id - 1];
      return `server.${id}=127.0.0.1:${quorum}:${quorum + 10_000}`;
    });
    const settings = ["initLimit=25", "syncLimit=5", ...lines];
    return new ZooKeeperEnsemble(
      members.map((myid) => new ZooKeeperServer(ports[myid - 1], { lines: settings, myid })),
    );
  }

  get addresses(): string {
    return this.servers.map(({ address }) => address).join(",");
  }

  async leader(): Promise<ZooKeeperServer> {
    const [leader] = await this.those("leader");
    if (leader === undefined) throw new Error("the ensemble has no leader");
    return leader;
  }

  async followers(): Promise<ZooKeeperServer[]> {
    return this.those("follower");
  }

  /** Waits until all servers serve, one of them as the leader. */
  async settled(): Promise<void> {
    await eventually("the ensemble has a leader and two followers", async () => {
      return (await this.those("leader")).length === 1 && (await this.those("follower")).length === SERVERS - 1;
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  private async those(mode: string): Promise<ZooKeeperServer[]> {
    const modes = await Promise.all(this.servers.map((server) => server.mode().catch(() => undefined)));
    return this.servers.filter((_, i) => modes[i] === mode);
  }
}
