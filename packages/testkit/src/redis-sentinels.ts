import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { RedisServer, type RedisSettings, startRedis } from "./redis-server.ts";

/** The name under which the sentinels know the master. */
const MASTER = "mymaster";

export interface SentinelSettings extends Pick<RedisSettings, "password" | "tls"> {
  /** What clients must send to the sentinels themselves. */
  readonly sentinelPassword?: string;
}

/** Starts a master with a replica, and three sentinels that watch them; answers once all know each other. */
export async function startSentinels(settings: SentinelSettings = {}): Promise<RedisSentinels> {
  const { sentinelPassword, ...access } = settings;
  const master = await startRedis(access);
  const replica = await startRedis({ ...access, config: { replicaof: `127.0.0.1 ${master.port}` } });
  const sentinels: Sentinel[] = [];
  const all = new RedisSentinels(master, replica, sentinels);
  try {
    for (let i = 0; i < 3; i += 1) {
      const sentinel = new Sentinel(
        {
          ...(access.tls !== undefined && { tls: access.tls }),
          ...(sentinelPassword !== undefined && { password: sentinelPassword }),
          config: {
            "sentinel monitor": `${MASTER} 127.0.0.1 ${master.port} 2`,
            // Long enough for a busy machine: a replica that seems down cannot take over.
            "sentinel down-after-milliseconds": `${MASTER} 2000`,
            "sentinel failover-timeout": `${MASTER} 5000`,
            ...(access.password !== undefined && { "sentinel auth-pass": `${MASTER} ${access.password}` }),
          },
        },
        await freePort(),
      );
      sentinels.push(sentinel);
      await sentinel.start();
    }
    for (const sentinel of sentinels) await eventually("it knows the others", () => sentinel.knowsAll());
    return all;
  } catch (error) {
    await all.stop();
    throw error;
  }
}

export class RedisSentinels {
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinels: readonly Sentinel[];

  constructor(master: RedisServer, replica: RedisServer, sentinels: readonly Sentinel[]) {
    this.master = master;
    this.replica = replica;
    this.sentinels = sentinels;
  }

  /** The hosts of the sentinels, as a URL has them. */
  get hosts(): string {
    return this.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",");
  }

  get url(): string {
    const { scheme, login, tls } = this.master;
    const [{ password }] = this.sentinels;
    const parameters = new URLSearchParams({
      ...(tls !== undefined && { tls_ca: tls.cert }),
      ...(password !== undefined && { sentinel_password: password }),
    });
    return `${scheme}+sentinel://${login}${this.hosts}/${MASTER}${parameters.size > 0 ? `?${parameters}` : ""}`;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.sentinels, this.replica, this.master].map((server) => server.stop()));
  }
}

class Sentinel extends RedisServer {
  protected override readonly mode = ["--sentinel"];

  async knowsAll(): Promise<boolean> {
    const told = await this.ask("SENTINEL", "MASTER", MASTER);
    const value = (name: string): string | undefined => new RegExp(`^${name}\\n(.*)$`, "m").exec(told)?.[1];
    return value("num-slaves") === "1" && value("num-other-sentinels") === "2" && value("flags") === "master";
  }
}
