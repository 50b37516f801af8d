import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { ServerProcess } from "./server-process.ts";

/** Debian's jar names all that it needs in its manifest. */
const JAR = "/usr/share/java/zookeeper.jar";

/** A small heap, no compiler that takes long, and nothing forced to the disk: what a test keeps may be lost with the machine. */
const JAVA = ["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no"];

export interface ZooKeeperSettings {
  /** Further lines of its configuration. */
  readonly lines?: readonly string[];
  /** Its number among the servers of an ensemble. */
  readonly myid?: number;
  /** Options of the Java runtime instead of those that make it start quickly. */
  readonly java?: readonly string[];
  /** Session timeouts may be from 2 to 20 ticks (default 200 ms each). */
  readonly tickMs?: number;
}

/** Starts a ZooKeeper for one test on a loopback port, and resolves once it answers. */
export async function startZooKeeper(settings: ZooKeeperSettings = {}): Promise<ZooKeeperServer> {
  for (let attempt = 1; ; attempt += 1) {
    const server = new ZooKeeperServer(await freePort(), settings);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      // Another test may have been quicker to take the port.
      if (attempt === 3) throw error;
    }
  }
}

export class ZooKeeperServer extends ServerProcess {
  private readonly java: readonly string[];

  constructor(port: number, { lines = [], myid, java = JAVA, tickMs = 200 }: ZooKeeperSettings = {}) {
    super("ZooKeeper", port);
    this.java = java;
    const data = join(this.dir, "data");
    mkdirSync(data);
    if (myid !== undefined) writeFileSync(join(data, "myid"), String(myid));
    const config = [
      `tickTime=${tickMs}`,
      `dataDir=${data}`,
      `clientPort=${port}`,
      "clientPortAddress=127.0.0.1",
      "maxClientCnxns=0",
      "admin.enableServer=false",
      "4lw.commands.whitelist=srvr,cons",
      ...lines,
    ];
    writeFileSync(this.configFile, config.map((line) => `${line}\n`).join(""));
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Runs it; `ready` waits until it serves. */
  launch(): void {
    const args = [...this.java, "-cp", JAR, "org.apache.zookeeper.server.quorum.QuorumPeerMain", this.configFile];
    this.spawn("java", args);
  }

  async ready(): Promise<void> {
    await eventually(`ZooKeeper serves on port ${this.port}`, async () => {
      if (!this.isRunning) return true;
      return (await this.mode()) !== undefined;
    });
    if (!this.isRunning) throw this.startFailure();
  }

  async start(): Promise<void> {
    this.launch();
    await this.ready();
  }

  /** `standalone`, `leader` or `follower`; undefined while it does not serve. */
  async mode(): Promise<string | undefined> {
    return /^Mode: (\w+)$/m.exec(await this.ask("srvr"))?.[1];
  }

  /** How many clients are connected, this spec not among them. */
  async connections(): Promise<number> {
    return (await this.ask("cons")).split("\n").filter((line) => line.includes("sid=0x")).length;
  }

  /** The version of the server, as `3.8.0`. */
  async version(): Promise<string> {
    return /^Zookeeper version: ([\d.]+)/m.exec(await this.ask("srvr"))?.[1] ?? "unknown";
  }

  /** Each of its threads stops when it is its turn to run. */
  override async pause(): Promise<void> {
    super.pause();
    const tasks = `/proc/${this.pid}/task`;
    if (!existsSync(tasks)) return delay(50);
    await eventually("all of its threads have stopped", async () =>
      readdirSync(tasks).every((task) => /\) T /.test(readFileSync(join(tasks, task, "stat"), "utf8"))),
    );
  }

  /** Sends one of the words of four letters, and answers what comes back. */
  private ask(word: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = "";
      const socket = connect(this.port, "127.0.0.1", () => socket.write(word));
      socket.setTimeout(1_000, () => socket.destroy(new Error(`no answer on port ${this.port}`)));
      socket.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      socket.once("error", reject).once("close", () => resolve(text));
    });
  }

  private get configFile(): string {
    return join(this.dir, "zoo.cfg");
  }
}
