import { type ChildProcess, execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Certificate } from "./certificate.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { spawnMortal } from "./mortal-process.ts";

export interface RedisSettings {
  readonly password?: string;
  /** Takes connections with TLS only, if given. */
  readonly tls?: Certificate;
  /** As Redis writes it: `2mb`. */
  readonly maxmemory?: string;
  /** Further lines of redis.conf, as `{ "maxmemory-policy": "noeviction" }`. */
  readonly config?: Readonly<Record<string, string>>;
  /** A free one, unless given. */
  readonly port?: number;
  /** A new temporary folder, removed by `stop`, unless given. */
  readonly dir?: string;
}

const run = promisify(execFile);

/** Starts a Redis of the test's own on a loopback port, and answers once it answers. It keeps nothing on disk. */
export async function startRedis(settings: RedisSettings = {}): Promise<RedisServer> {
  for (;;) {
    const server = new RedisServer(settings, settings.port ?? (await freePort()));
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      // Another test was quicker to take the port.
      if (settings.port === undefined && server.log.includes("Address already in use")) continue;
      throw error;
    }
  }
}

export class RedisServer {
  readonly port: number;
  readonly dir: string;
  readonly password: string | undefined;
  readonly tls: Certificate | undefined;
  /** What the program is told besides its configuration. */
  protected readonly mode: readonly string[] = [];
  /** All that the server has printed. */
  log = "";
  private readonly ownsDir: boolean;
  private process: ChildProcess | undefined;
  private paused = false;

  constructor(settings: RedisSettings, port: number) {
    this.port = port;
    this.password = settings.password;
    this.tls = settings.tls;
    this.ownsDir = settings.dir === undefined;
    this.dir = settings.dir ?? mkdtempSync(join(tmpdir(), "headgate-redis-"));
    const config: Record<string, string> = {
      bind: "127.0.0.1",
      port: settings.tls === undefined ? String(port) : "0",
      dir: JSON.stringify(this.dir),
      save: '""',
      appendonly: "no",
      // A replica is in step at once, not after the 5 s in which others could join it.
      "repl-diskless-sync-delay": "0",
      ...(settings.password !== undefined && {
        requirepass: JSON.stringify(settings.password),
        masterauth: JSON.stringify(settings.password),
      }),
      ...(settings.tls !== undefined && {
        "tls-port": String(port),
        "tls-cert-file": settings.tls.cert,
        "tls-key-file": settings.tls.key,
        "tls-ca-cert-file": settings.tls.cert,
        "tls-auth-clients": "no",
        "tls-replication": "yes",
        "tls-cluster": "yes",
      }),
      ...(settings.maxmemory !== undefined && { maxmemory: settings.maxmemory }),
      ...settings.config,
    };
    writeFileSync(
      this.configFile,
      Object.entries(config)
        .map(([name, value]) => `${name} ${value}\n`)
        .join(""),
    );
  }

  get url(): string {
    return `${this.scheme}://${this.login}127.0.0.1:${this.port}${this.parameters}`;
  }

  /** `redis`, or with TLS `rediss`. */
  get scheme(): string {
    return this.tls === undefined ? "redis" : "rediss";
  }

  /** What stands before the host in a URL. */
  get login(): string {
    return this.password === undefined ? "" : `:${encodeURIComponent(this.password)}@`;
  }

  /** What stands behind everything else in a URL. */
  get parameters(): string {
    return this.tls === undefined ? "" : `?tls_ca=${encodeURIComponent(this.tls.cert)}`;
  }

  /** What redis-cli needs to be told, besides the port. */
  get cliOptions(): string[] {
    return this.tls === undefined ? [] : ["--tls", "--cacert", this.tls.cert];
  }

  get cliEnvironment(): NodeJS.ProcessEnv {
    return { ...process.env, ...(this.password !== undefined && { REDISCLI_AUTH: this.password }) };
  }

  get pid(): number {
    const pid = this.process?.pid;
    if (pid === undefined) throw new Error(`the Redis on port ${this.port} does not run`);
    return pid;
  }

  /** Whether it runs and is not paused. */
  get isUp(): boolean {
    return this.process !== undefined && !this.paused;
  }

  /** Sends one command with redis-cli, and answers what that prints. */
  async ask(...command: readonly string[]): Promise<string> {
    const place = ["-h", "127.0.0.1", "-p", String(this.port), ...this.cliOptions];
    const { stdout } = await run("redis-cli", ["-e", ...place, ...command], {
      env: this.cliEnvironment,
      timeout: 5_000,
    });
    return stdout.trimEnd();
  }

  async start(): Promise<void> {
    const child = spawnMortal("redis-server", [this.configFile, ...this.mode]);
    this.process = child;
    const keep = (text: string) => {
      this.log += text;
    };
    child.stdout?.setEncoding("utf8").on("data", keep);
    child.stderr?.setEncoding("utf8").on("data", keep);
    child.once("error", (error) => keep(String(error)));
    child.once("close", () => {
      if (this.process === child) this.process = undefined;
    });
    await eventually(`Redis answers on port ${this.port}`, async () => {
      if (this.process !== child) return true;
      // By its pid: whoever else has the port answers a PING as well.
      const about = await this.ask("INFO", "server");
      return about.includes(`process_id:${child.pid}\r`) && (await this.ask("PING")) === "PONG";
    });
    if (this.process !== child) throw new Error(`Redis ended at its start on port ${this.port}:\n${this.log}`);
  }

  /** Freezes it: connections stay open, nothing is answered. */
  pause(): void {
    process.kill(this.pid, "SIGSTOP");
    this.paused = true;
  }

  resume(): void {
    process.kill(this.pid, "SIGCONT");
    this.paused = false;
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    const child = this.process;
    if (child === undefined) return;
    const closed = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await closed;
    this.paused = false;
  }

  /** Runs it anew, on the same port and in the same folder, after a kill if it still runs. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.kill();
    if (this.ownsDir) rmSync(this.dir, { recursive: true, force: true });
  }

  private get configFile(): string {
    return join(this.dir, "redis.conf");
  }
}
