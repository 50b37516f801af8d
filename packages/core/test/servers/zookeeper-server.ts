import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { spawnMortal } from "./mortal-process.ts";

/** Debian's jar names all that it needs in its manifest. */
const JAR = "/usr/share/java/zookeeper.jar";

/** A small heap, no compiler that takes long, and nothing forced to the disk: what a test keeps may be lost with the machine. */
const JAVA = ["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no"];

/** Session timeouts may be from 2 to 20 of these, in milliseconds. */
const TICK_MS = 200;

/** Starts a ZooKeeper of the test's own on a loopback port, and answers once it answers. */
export async function startZooKeeper(): Promise<ZooKeeperServer> {
  for (let attempt = 1; ; attempt += 1) {
    const server = new ZooKeeperServer(await freePort());
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

export class ZooKeeperServer {
  readonly port: number;
  readonly dir: string;
  private process: ChildProcess | undefined;
  private log = "";

  /** `peers`: further lines of its configuration, and its number among the servers of an ensemble. */
  constructor(port: number, peers?: { readonly lines: readonly string[]; readonly myid: number }) {
    this.port = port;
    this.dir = mkdtempSync(join(tmpdir(), "headgate-zookeeper-"));
    const data = join(this.dir, "data");
    mkdirSync(data);
    if (peers !== undefined) writeFileSync(join(data, "myid"), String(peers.myid));
    const config = [
      `tickTime=${TICK_MS}`,
      `dataDir=${data}`,
      `clientPort=${port}`,
      "clientPortAddress=127.0.0.1",
      "maxClientCnxns=0",
      "admin.enableServer=false",
      "4lw.commands.whitelist=srvr,cons",
      ...(peers?.lines ?? []),
    ];
    writeFileSync(this.configFile, config.map((line) => `${line}\n`).join(""));
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number {
    const pid = this.process?.pid;
    if (pid === undefined) throw new Error(`the ZooKeeper on port ${this.port} does not run`);
    return pid;
  }

  /** Runs it; `ready` waits until it serves. */
  launch(): void {
    const args = [...JAVA, "-cp", JAR, "org.apache.zookeeper.server.quorum.QuorumPeerMain", this.configFile];
    const child = spawnMortal("java", args);
    this.process = child;
    const keep = (text: string) => {
      this.log += text;
    };
    child.stdout?.setEncoding("utf8").on("data", keep);
    child.stderr?.setEncoding("utf8").on("data", keep);
    child.once("close", () => {
      if (this.process === child) this.process = undefined;
    });
  }

  async ready(): Promise<void> {
    await eventually(`ZooKeeper serves on port ${this.port}`, async () => {
      if (this.process === undefined) return true;
      return (await this.mode()) !== undefined;
    });
    if (this.process === undefined) throw new Error(`ZooKeeper ended at its start on port ${this.port}:\n${this.log}`);
  }

  async start(): Promise<void> {
    this.launch();
    await this.ready();
  }

  /** `standalone`, `leader` or `follower`; undefined while it does not serve. */
  async mode(): Promise<string | undefined> {
    return /^Mode: (\w+)$/m.exec(await this.ask("srvr"))?.[1];
  }

  /** How many clients are connected, this question not among them. */
  async connections(): Promise<number> {
    return (await this.ask("cons")).split("\n").filter((line) => line.includes("sid=0x")).length;
  }

  /** Freezes it: connections stay open, nothing is answered. Each of its threads stops when it is its turn to run. */
  async pause(): Promise<void> {
    process.kill(this.pid, "SIGSTOP");
    const tasks = `/proc/${this.pid}/task`;
    if (!existsSync(tasks)) return delay(50);
    await eventually("all of its threads have stopped", async () =>
      readdirSync(tasks).every((task) => /\) T /.test(readFileSync(join(tasks, task, "stat"), "utf8"))),
    );
  }

  resume(): void {
    process.kill(this.pid, "SIGCONT");
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    const child = this.process;
    if (child === undefined) return;
    const closed = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await closed;
  }

  /** Runs it anew on the same port, with what it has on disk. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
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
