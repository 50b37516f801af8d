import { type ChildProcess, execFile } from "node:child_process";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { eventually } from "../../../core/test/servers/eventually.ts";
import { freePort } from "../../../core/test/servers/free-port.ts";
import { spawnMortal } from "../../../core/test/servers/mortal-process.ts";

const BIN = "/usr/lib/postgresql/15/bin";
const run = promisify(execFile);

/**
 * Starts a PostgreSQL of the test's own on a loopback port, and answers once it answers. `config` is further lines of
 * postgresql.conf, as `{ fsync: "off" }`.
 */
export async function startPostgres(config: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const server = new PostgresServer(await freePort(), config);
  try {
    await server.init();
    await server.start();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

export class PostgresServer {
  readonly port: number;
  readonly user = "postgres";
  readonly password = "s3cret-of-the-test";
  /** All that the server has printed. */
  log = "";
  private readonly dir = mkdtempSync(join(tmpdir(), "headgate-postgres-"));
  private process: ChildProcess | undefined;
  private readonly config: Readonly<Record<string, string>>;
  private databases = 0;

  constructor(port: number, config: Readonly<Record<string, string>>) {
    this.port = port;
    this.config = config;
  }

  get pid(): number {
    const pid = this.process?.pid;
    if (pid === undefined) throw new Error(`the PostgreSQL on port ${this.port} does not run`);
    return pid;
  }

  url(database = "postgres"): string {
    return `postgres://${this.user}:${this.password}@127.0.0.1:${this.port}/${database}`;
  }

  /** Makes a new database in it, and answers its URL. */
  async database(): Promise<string> {
    this.databases += 1;
    const name = `test_${this.databases}`;
    await this.ask(`create database ${name}`);
    return this.url(name);
  }

  /** Sends one statement over a connection of its own. */
  async ask(statement: string, url = this.url()): Promise<pg.QueryResult["rows"]> {
    const client = new pg.Client(url);
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  }

  async init(): Promise<void> {
    const passwordFile = join(this.dir, "password");
    writeFileSync(passwordFile, this.password);
    if (isRoot) {
      const { stdout } = await run("id", ["-u", "postgres"]);
      chownSync(this.dir, Number(stdout), -1);
      chownSync(passwordFile, Number(stdout), -1);
    }
    const [command, ...args] = asPostgres([
      join(BIN, "initdb"),
      ...["-D", join(this.dir, "data"), "-U", this.user, "-A", "scram-sha-256", `--pwfile=${passwordFile}`],
      // The C locale is the quickest, and another than the default of most servers is: ids have an order of their own.
      ...["--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"],
    ]);
    await run(command, args, { cwd: this.dir });
  }

  async start(): Promise<void> {
    // The backends of a server that was killed hold its memory until they have noticed.
    await eventually(`PostgreSQL starts on port ${this.port}`, async () => {
      const child = this.spawn();
      await eventually("it answers or ends", async () => {
        if (this.process !== child) return true;
        await this.ask("select 1");
        return true;
      });
      return this.process === child;
    });
  }

  /** Ends it and all its connections, as an operator would. */
  async shutDown(): Promise<void> {
    await this.end("SIGINT");
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  pause(): void {
    process.kill(this.pid, "SIGSTOP");
  }

  resume(): void {
    process.kill(this.pid, "SIGCONT");
  }

  async stop(): Promise<void> {
    await this.shutDown();
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }

  private spawn(): ChildProcess {
    const config = {
      port: String(this.port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: this.dir,
      max_connections: "60",
      ...this.config,
    };
    const settings = Object.entries(config).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const [command, ...args] = asPostgres([join(BIN, "postgres"), "-D", join(this.dir, "data"), ...settings]);
    const child = spawnMortal(command, args);
    const keep = (text: string) => {
      this.log += text;
    };
    child.stdout?.setEncoding("utf8").on("data", keep);
    child.stderr?.setEncoding("utf8").on("data", keep);
    // On `exit`, and not on `close`: backends hold the pipes for a moment longer.
    child.once("exit", () => {
      if (this.process === child) this.process = undefined;
    });
    this.process = child;
    return child;
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.process;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGCONT");
    child.kill(signal);
    await ended;
  }
}

const isRoot = process.getuid?.() === 0;

/** PostgreSQL refuses to run as root. A change of user forgets who is to end when we do: it is said again. */
function asPostgres(command: readonly string[]): [string, ...string[]] {
  if (!isRoot) return ["/usr/bin/env", ...command];
  return ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL", ...command];
}
