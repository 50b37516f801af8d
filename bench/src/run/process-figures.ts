import { readdirSync, readFileSync } from "node:fs";

/** The kernel counts CPU time in hundredths of a second. */
const TICK_MS = 10;

/** CPU time of a process with all of its threads. */
export function processorMsOf(pid: number): number {
  const [user, system] = statOf(pid).slice(11, 13);
  return (Number(user) + Number(system)) * TICK_MS;
}

/** The processes that a process has started. */
export function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && parentOf(pid) === parent);
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(statOf(pid)[1]);
  } catch {
    return undefined;
  }
}

/** What the kernel tells about a process after its name, which is in parentheses and may contain anything. */
function statOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
}
