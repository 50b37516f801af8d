import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export interface ChildOptions {
  readonly cwd?: string;
  /** Receives everything that the process prints. */
  readonly hear?: (text: string) => void;
}

/**
 * Starts a process that does not outlive this one: the exit hook above ends it, and on Linux so does the kernel,
 * however this process ends.
 */
export function spawnChild(program: string, args: readonly string[], options: ChildOptions = {}): ChildProcess {
  const { cwd, hear } = options;
  const setpriv = "/usr/bin/setpriv";
  const [command, ...rest] = existsSync(setpriv)
    ? [setpriv, "--pdeathsig", "KILL", program, ...args]
    : [program, ...args];
  const child = spawn(command, rest, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  if (hear !== undefined) {
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    child.once("error", (error) => hear(String(error)));
  }
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}
