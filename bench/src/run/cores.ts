import { spawnSync } from "node:child_process";
import { cpus } from "node:os";

/**
 * A command that holds the command after it to one core; nothing where there is no such command, or one core only. By
 * what the machine has: a process that is held to one core itself would see no other.
 */
export function onCore(core: 0 | 1): readonly string[] {
  return isThere("taskset") && cpus().length > 1 ? ["taskset", "-c", String(core)] : [];
}

export function isThere(program: string): boolean {
  return spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
}
