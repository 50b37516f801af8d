import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnChild } from "headgate-testkit/child-process";
import { onCore } from "../run/cores.ts";
import { processorMsOf } from "../run/process-figures.ts";

export const SERVER_CORE = 0;

/** A server, with whatever else it needs to run, such as its Redis. */
export interface RunningServer {
  readonly port: number;
  readonly pids: readonly number[];
  end(): Promise<void>;
}

export interface ServerCommand {
  readonly port: number;
  /** Program and arguments. */
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a program on the core of the servers, in a new folder for its files. It may not listen yet. */
export function startProgram(describe: (folder: string) => ServerCommand): RunningServer {
  const folder = mkdtempSync(join(tmpdir(), "headgate-peers-"));
  const { port, command, env = {} } = describe(folder);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const child = spawnChild("/usr/bin/env", [...variables, ...onCore(SERVER_CORE), ...command], {
    cwd: folder,
    hear: () => {},
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  return {
    port,
    pids: [Number(child.pid)],
    async end() {
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/** Processor time that a server has used. */
export function cpuSeconds({ pids }: RunningServer): number {
  return sum(pids, (pid) => processorMsOf(pid) / 1000);
}

/** Memory of a server that is not swapped out. */
export function residentMebibytes({ pids }: RunningServer): number {
  return sum(pids, (pid) => {
    const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kibibytes) / 1024;
  });
}

function sum(pids: readonly number[], figure: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + figure(pid), 0);
}
