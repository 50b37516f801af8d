import type { ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnChild } from "./child-process.ts";
import { eventually } from "./eventually.ts";
import { program } from "./headgate-command.ts";

/** A start takes half a second, and a hundred times as long on a machine that is busy with other things. */
const START_MS = 90_000;

export interface NodeOptions {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A new temporary folder, removed by `end`, unless given. */
  readonly data?: string;
  readonly cwd?: string;
  /** A command that starts the program, as `["taskset", "-c", "1"]`. */
  readonly launcher?: readonly string[];
}

/** Starts a node as a user does, on free ports, and answers once it is ready. */
export async function startNode(options: NodeOptions = {}): Promise<NodeProcess> {
  const node = new NodeProcess(options);
  await node.whenReady();
  return node;
}

/** The real program in a separate process. */
export class NodeProcess {
  readonly data: string;
  stdout = "";
  stderr = "";
  /** How it ended: its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly child: ChildProcess;
  private readonly ownsData: boolean;
  private readonly adminKey: string | undefined;
  private outcome: number | NodeJS.Signals | undefined;

  constructor({ flags = [], env = {}, data, cwd, launcher = [] }: NodeOptions) {
    this.ownsData = data === undefined;
    this.data = data ?? mkdtempSync(join(tmpdir(), "headgate-node-"));
    const { HEADGATE_ADMIN_KEY } = env;
    this.adminKey = HEADGATE_ADMIN_KEY;
    const settings = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--data", this.data, ...flags];
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const command = [...variables, ...launcher, process.execPath, program, "serve", ...settings];
    this.child = spawnChild("/usr/bin/env", command, cwd === undefined ? {} : { cwd });
    this.child.stdout?.setEncoding("utf8").on("data", (text) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve) => {
      this.child.once("close", (code, signal) => {
        this.outcome = code ?? signal ?? "SIGKILL";
        resolve(this.outcome);
      });
    });
  }

  /** What it logged, line by line. */
  get log(): Record<string, unknown>[] {
    const lines = this.stderr.split("\n").slice(0, -1);
    return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  }

  get url(): string {
    const { http } = this.ready ?? {};
    return String(http);
  }

  get grpcAddress(): string {
    const { grpc } = this.ready ?? {};
    return String(grpc);
  }

  /** The admin key: as given, else from the file that it was written to. */
  get key(): string {
    if (this.adminKey !== undefined) return this.adminKey;
    const file = join(this.data, "first-admin-key");
    return existsSync(file) ? readFileSync(file, "utf8").trim() : "none was made";
  }

  async whenReady(): Promise<void> {
    const isReady = async (): Promise<boolean> => {
      if (this.outcome !== undefined) throw new Error(`it ended with ${this.outcome}:\n${this.stderr}`);
      return this.ready !== undefined;
    };
    await eventually("the node is ready", isReady, START_MS);
  }

  request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.key}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** Asks for one, and answers the status. */
  async check(identifier: string, endpoint: string): Promise<number> {
    const response = await this.request("POST", "/api/v1/check", { identifier, endpoint });
    await response.arrayBuffer();
    return response.status;
  }

  /** Creates a rule for users with a limit per minute. */
  async addRule(rule_id: string, endpoint_pattern: string, limit: number, more: object = {}): Promise<Response> {
    const rule = { rule_id, name: rule_id, dimension: "user", endpoint_pattern, limit, window_seconds: 60, ...more };
    return this.request("POST", "/api/v1/rules", rule);
  }

  async stop(): Promise<number | NodeJS.Signals> {
    this.child.kill("SIGTERM");
    return this.ended;
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  /** Ends it if it still runs, and removes its folder. */
  async end(): Promise<void> {
    await this.kill();
    if (this.ownsData) rmSync(this.data, { recursive: true, force: true });
  }

  private get ready(): Record<string, unknown> | undefined {
    return this.log.find(({ msg }) => msg === "ready");
  }
}
