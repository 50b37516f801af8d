import { execFile } from "node:child_process";
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { ServerProcess } from "./server-process.ts";

const BIN = "/usr/lib/postgresql/15/bin";
const run = promisify(execFile);

/**
 * Starts a PostgreSQL for one test on a loopback port, and resolves once it answers. `config` is further lines of
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

export class PostgresServer extends ServerProcess {
  readonly user = "postgres";
  readonly password = "s3cret-of-the-test";
  /** Backends keep the pipes open for a moment longer. */
  protected override readonly ending = "exit";
  private readonly config: Readonly<Record<string, string>>;
  private databases = 0;

  constructor(port: number, config: Readonly<Record<string, string>>) {
    super("PostgreSQL", port);
    this.config = config;
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
      this.run();
      await eventually("it answers or ends", async () => {
        if (!this.isRunning) return true;
        await this.ask("select 1");
        return true;
      });
      return this.isRunning;
    });
  }

  /** Ends it and all its connections, as an operator would. */
  async shutDown(): Promise<void> {
    await this.end("SIGINT");
  }

  override async stop(): Promise<void> {
    await this.shutDown();
    this.removeDir();
  }

  private run(): void {
    const config = {
      port: String(this.port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: this.dir,
      max_connections: "60",
      ...this.config,
    };
    const settings = Object.entries(config).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const [command, ...args] = asPostgres([join(BIN, "postgres"), "-D", join(this.dir, "data"), ...settings]);
    this.spawn(command, args);
  }
}

const isRoot = process.getuid?.() === 0;

/**
 * PostgreSQL refuses to run as root. Changing the user clears the signal on the death of the parent, so it is set
 * again.
 */
function asPostgres(command: readonly string[]): [string, ...string[]] {
  if (!isRoot) return ["/usr/bin/env", ...command];
  return ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL", ...command];
}
