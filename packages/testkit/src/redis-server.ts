import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Certificate } from "./certificate.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { ServerProcess } from "./server-process.ts";

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
  /** A command that starts the program, as `["taskset", "-c", "1"]`. */
  readonly launcher?: readonly string[];
}

const run = promisify(execFile);

/** Starts a Redis for one test on a loopback port, and resolves once it answers. It keeps nothing on disk. */
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

export class RedisServer extends ServerProcess {
  readonly password: string | undefined;
  readonly tls: Certificate | undefined;
  /** Arguments of the program after its configuration. */
  protected readonly mode: readonly string[] = [];
  private readonly launcher: readonly string[];

  constructor(settings: RedisSettings, port: number) {
    super("Redis", port, settings.dir);
    this.password = settings.password;
    this.tls = settings.tls;
    this.launcher = settings.launcher ?? [];
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

  /** The part before the host in a URL. */
  get login(): string {
    return this.password === undefined ? "" : `:${encodeURIComponent(this.password)}@`;
  }

  /** The part after everything else in a URL. */
  get parameters(): string {
    return this.tls === undefined ? "" : `?tls_ca=${encodeURIComponent(this.tls.cert)}`;
  }

  /** The arguments of redis-cli besides the port. */
  get cliOptions(): string[] {
    return this.tls === undefined ? [] : ["--tls", "--cacert", this.tls.cert];
  }

  get cliEnvironment(): NodeJS.ProcessEnv {
    return { ...process.env, ...(this.password !== undefined && { REDISCLI_AUTH: this.password }) };
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

  /** The version of the server, as `7.0.15`. */
  async version(): Promise<string> {
    return /^redis_version:(\S+)/m.exec(await this.ask("INFO", "server"))?.[1] ?? "unknown";
  }

  async start(): Promise<void> {
    const [program, ...args] = [...this.launcher, "redis-server", this.configFile, ...this.mode];
    const child = this.spawn(program, args);
    await eventually(`Redis answers on port ${this.port}`, async () => {
      if (!this.isRunning) return true;
      // Compare process IDs: any other Redis on this port would answer a PING as well.
      const about = await this.ask("INFO", "server");
      return about.includes(`process_id:${child.pid}\r`) && (await this.ask("PING")) === "PONG";
    });
    if (!this.isRunning) throw this.startFailure();
  }

  private get configFile(): string {
    return join(this.dir, "redis.conf");
  }
}
