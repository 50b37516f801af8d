import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A child that does not outlive this process: at its exit by the hook above, and where Linux can, whatever ends it. */
export function spawnMortal(program: string, args: readonly string[]): ChildProcess {
  const setpriv = "/usr/bin/setpriv";
  const [command, ...rest] = existsSync(setpriv)
    ? [setpriv, "--pdeathsig", "KILL", program, ...args]
    : [program, ...args];
  const child = spawn(command, rest, { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.once("close", () => running.delete(child));
  return child;
}
