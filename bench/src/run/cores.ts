import { spawnSync } from "node:child_process";
import { cpus } from "node:os";

/**
 * A command prefix that pins the command to one core; empty if that is not possible or there is only one core. It looks
 * at the cores of the machine, because a pinned process sees only its own.
 */
export function onCore(core: 0 | 1): readonly string[] {
  return isThere("taskset") && cpus().length > 1 ? ["taskset", "-c", String(core)] : [];
}

export function isThere(program: string): boolean {
  return spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
}
