import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { isThere, onCore } from "../run/cores.ts";
import type { Surroundings } from "../suite.ts";

/** Apart, so that neither takes the other's time, nor the system moves them about. */
const CLIENT_CORE = 0;
const SERVER_CORE = 1;

/** Starts the Redis that all subjects of a run share. It keeps nothing on disk. */
export async function startServer(): Promise<Surroundings> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
  const launcher = onCore(CLIENT_CORE);
  const [command, ...args] = [
    ...onCore(SERVER_CORE),
    // Not to be left behind when this process is killed.
    ...(isThere("setpriv") ? ["setpriv", "--pdeathsig", "KILL"] : []),
    ...["redis-server", "--bind", "127.0.0.1", "--port", String(port), "--dir", folder],
    ...["--save", "", "--appendonly", "no"],
  ];
  const server = spawn(command, args, { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => {
    server.once("error", () => resolve());
    server.once("close", () => resolve());
  });
  const killServer = () => server.kill("SIGKILL");
  process.once("exit", killServer);
  const close = async () => {
    killServer();
    await ended;
    process.off("exit", killServer);
    rmSync(folder, { recursive: true, force: true });
  };

  const url = `redis://127.0.0.1:${port}`;
  const version = await Promise.race([versionAt(url), ended]);
  if (version === undefined) {
    await close();
    throw new Error("redis-server does not start: is it on the PATH?");
  }
  return {
    address: url,
    launcher,
    notes: [
      `Redis ${version}, over the loopback${launcher.length > 0 ? ", on a processor core of its own; so has each subject" : ""}. All ` +
        "subjects use ioredis.",
    ],
    close,
  };
}

async function versionAt(url: string): Promise<string | undefined> {
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 10 });
  // Until the server listens it refuses, and the client tries again.
  client.on("error", () => {});
  const about = await client.info("server");
  client.disconnect();
  return /redis_version:(\S+)/.exec(about)?.[1];
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
