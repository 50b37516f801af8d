import { readFileSync, readlinkSync } from "node:fs";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { z } from "zod";

/** How often a process shows that it still runs, to those that cannot look it up. */
const TOUCH_MS = 60_000;
/** After this time without a sign, a process that cannot be looked up counts as ended. */
const SILENCE_MS = 5 * TOUCH_MS;

const form = z.object({
  /** Where process IDs mean the same: processes of other machines and containers cannot be looked up. */
  processes: z.string(),
  pid: z.int(),
  /** When the process started, since IDs are reused. Null if the system does not report it. */
  started: z.string().nullable(),
});

/** A file that exists while its process runs. Left behind if the process is killed, so readers ask for `lockState`. */
export class ProcessLock {
  readonly #path: string;
  readonly #timer: NodeJS.Timeout;

  /** Fails if the file exists. */
  static async take(path: string): Promise<ProcessLock> {
    await write(path, "wx");
    return new ProcessLock(path);
  }

  private constructor(path: string) {
    this.#path = path;
    this.#timer = setInterval(() => void this.#touch(), TOUCH_MS).unref();
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await rm(this.#path, { force: true });
  }

  async #touch(): Promise<void> {
    const now = new Date();
    // Another process removes it if this one was frozen for long. If the disk refuses both, the next attempt may work.
    await utimes(this.#path, now, now).catch(() => write(this.#path).catch(() => {}));
  }
}

function write(path: string, flag = "w"): Promise<void> {
  const lock: z.output<typeof form> = { processes: PROCESSES, pid: process.pid, started: startOf("self") ?? null };
  return writeFile(path, JSON.stringify(lock), { mode: 0o600, flag });
}

/** Whether the process that took a lock still runs. Undefined if the file is not a lock. */
export async function lockState(path: string): Promise<"held" | "ended" | undefined> {
  let silentMs: number;
  let text: string;
  try {
    silentMs = Date.now() - (await stat(path)).mtimeMs;
    text = await readFile(path, "utf8");
  } catch {
    return undefined;
  }
  const { data } = form.safeParse(parsed(text));
  // It may be about to be written.
  if (data === undefined) return silentMs < SILENCE_MS ? "held" : undefined;
  if (data.processes !== PROCESSES) return silentMs < SILENCE_MS ? "held" : "ended";
  const isHeld = data.started === null ? isRunning(data.pid) : startOf(data.pid) === data.started;
  return isHeld ? "held" : "ended";
}

/** The start of a process in ticks since the machine was started. Undefined if it has ended or there is no `/proc`. */
function startOf(pid: number | "self"): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program comes second, in parentheses, and may have some itself.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    // A zombie has ended.
    return state === "Z" || state === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

const PROCESSES = processes();

function processes(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
