import { once } from "node:events";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";
import { spawnChild } from "headgate-testkit/child-process";
import { eventually } from "headgate-testkit/eventually";
import { root } from "headgate-testkit/repository";

/** A JavaScript runtime other than Node, which comes as a package of npm. */
export interface Runtime {
  readonly name: string;
  /** Where its program is, if there is one for this platform. */
  readonly program: string | undefined;
  /** How to leave so that the runtime notices at once. Workers notice a plain close only when they write. */
  readonly leavesBy: "close" | "reset";
  /** Whether the handler of a client that has left is stopped where it is. */
  readonly cancelsHandlers: boolean;
  /** Makes ready to serve the site in a folder where the library is installed. The answer is how to call the program. */
  prepare(folder: string): Promise<readonly string[]>;
  /** How to call the program with a script that uses Redis, if the runtime can. */
  readonly redis: ((folder: string) => readonly string[]) | undefined;
}

const require = createRequire(import.meta.url);
const site = new URL("site.mjs", import.meta.url);
const redisScript = new URL("redis.mjs", import.meta.url);
const DENO_RUN = ["run", "--no-config", "--no-lock", "--node-modules-dir=manual", "--no-remote", "--allow-all"];

const bun: Runtime = {
  name: "Bun",
  program: programOf(
    require.resolve("bun/package.json"),
    "bin/bun",
    {
      "linux-x64": "@oven/bun-linux-x64",
      "linux-arm64": "@oven/bun-linux-aarch64",
      "darwin-x64": "@oven/bun-darwin-x64",
      "darwin-arm64": "@oven/bun-darwin-aarch64",
    },
    "bin/bun.exe",
  ),
  leavesBy: "close",
  cancelsHandlers: false,
  prepare: async (folder) => [copied(folder, new URL("bun.mjs", import.meta.url))],
  redis: (folder) => [copied(folder, redisScript)],
};

const deno: Runtime = {
  name: "Deno",
  program: programOf(require.resolve("deno/package.json"), "deno", {
    "linux-x64": "@deno/linux-x64-glibc",
    "linux-arm64": "@deno/linux-arm64-glibc",
    "darwin-x64": "@deno/darwin-x64",
    "darwin-arm64": "@deno/darwin-arm64",
  }),
  leavesBy: "close",
  cancelsHandlers: false,
  prepare: async (folder) => [...DENO_RUN, copied(folder, new URL("deno.mjs", import.meta.url))],
  redis: (folder) => [...DENO_RUN, copied(folder, redisScript)],
};

export const workers: Runtime = {
  name: "Cloudflare Workers",
  program: programOf(require.resolve("workerd/package.json"), "bin/workerd", {
    "linux-x64": "@cloudflare/workerd-linux-64",
    "linux-arm64": "@cloudflare/workerd-linux-arm64",
    "darwin-x64": "@cloudflare/workerd-darwin-64",
    "darwin-arm64": "@cloudflare/workerd-darwin-arm64",
  }),
  leavesBy: "reset",
  cancelsHandlers: true,
  prepare: (folder) => workerdCall(folder, new URL("worker.mjs", import.meta.url), CONFIG),
  // A connection serves only the request in which it was opened.
  redis: undefined,
};

/** Bundles a Worker as Wrangler does. The answer is how to call workerd with it and a configuration. */
export async function workerdCall(folder: string, worker: URL, configuration: string): Promise<readonly string[]> {
  await build({
    entryPoints: [copied(folder, worker)],
    outfile: join(folder, "bundle.js"),
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker"],
    external: ["cloudflare:workers"],
    logLevel: "error",
  });
  const config = join(folder, "config.capnp");
  writeFileSync(config, configuration);
  return ["serve", config, "--control-fd=1"];
}

export const runtimes: readonly Runtime[] = [bun, deno, workers];

const CONFIG = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "site", worker = .site), (name = "internet", network = (allow = ["private"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "site")],
);
const site :Workerd.Worker = (
  modules = [(name = "site", esModule = embed "bundle.js")],
  compatibilityDate = "2025-01-01",
  compatibilityFlags = ["enable_request_signal"],
);
`;

/** A temporary folder in which the built library is installed, with Hono and the clients of Redis. */
export function installed(): string {
  const folder = mkdtempSync(join(tmpdir(), "headgate-runtime-"));
  const library = join(folder, "node_modules/headgate");
  mkdirSync(library, { recursive: true });
  cpSync(join(root, "packages/core/package.json"), join(library, "package.json"));
  cpSync(join(root, "packages/core/dist/esm"), join(library, "dist/esm"), { recursive: true });
  for (const peer of ["hono", "ioredis", "iovalkey", "redis"]) {
    symlinkSync(join(root, "node_modules", peer), join(folder, "node_modules", peer));
  }
  return folder;
}

/** A program of a runtime that serves something. */
export class Served {
  /** Where it listens, once `listening` has resolved. */
  url = "";
  private output = "";
  private readonly child: ReturnType<typeof spawnChild>;

  constructor(program: string, call: readonly string[]) {
    const hear = (text: string): void => {
      this.output += text;
    };
    this.child = spawnChild(program, call, { hear });
  }

  async listening(): Promise<void> {
    await eventually("the runtime listens", async () => {
      if (this.child.exitCode !== null) throw new Error(`the runtime has ended:\n${this.output}`);
      const [, port] = /^(?:listening on |.*"port":)(\d+)/m.exec(this.output) ?? [];
      this.url = `http://127.0.0.1:${port}`;
      return port !== undefined;
    });
  }

  /** Kills it: nothing is written any more. */
  async kill(): Promise<void> {
    const ended = once(this.child, "exit");
    if (this.child.exitCode === null && this.child.kill("SIGKILL")) await ended;
  }
}

/** Puts a script, and the site that it may serve, into a folder. */
function copied(folder: string, script: URL): string {
  const [path] = [script, site].map((file) => {
    const copy = join(folder, basename(file.pathname));
    copyFileSync(file, copy);
    return copy;
  });
  return path;
}

/**
 * The program in the package for this platform, on which another package depends. The install script of the owner may
 * link to the program or, as Bun's does, move it to a path of its own; where scripts are blocked it stays in place.
 */
function programOf(
  owner: string,
  path: string,
  packages: Readonly<Record<string, string>>,
  movedTo?: string,
): string | undefined {
  const name = packages[`${process.platform}-${process.arch}`];
  try {
    const program = join(dirname(createRequire(owner).resolve(`${name}/package.json`)), path);
    if (existsSync(program)) return program;
    return movedTo === undefined ? undefined : join(dirname(owner), movedTo);
  } catch {
    return undefined;
  }
}
