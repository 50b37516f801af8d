import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Readable } from "node:stream";

export const program = new URL("../../cli/bin/headgate.js", import.meta.url).pathname;

export interface Run {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

export interface RunOptions {
  readonly stdin?: string | Iterable<string>;
  readonly node?: readonly string[];
  readonly cwd?: string;
}

/** Runs the real command to its end. */
export async function headgate(args: readonly string[], { stdin = "", node = [], cwd }: RunOptions = {}): Promise<Run> {
  const child = start(args, { node, ...(cwd === undefined ? {} : { cwd }) });
  Readable.from(typeof stdin === "string" ? [stdin] : stdin).pipe(child.stdin);
  return outcome(child);
}

/** Starts the command with its standard input open. */
export function start(args: readonly string[], { node = [], cwd }: RunOptions = {}): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [...node, program, ...args], { cwd });
  // A command that has refused its input no longer reads it.
  child.stdin.on("error", () => {});
  return child;
}

export async function outcome(child: ChildProcessWithoutNullStreams): Promise<Run> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (piece) => stdout.push(piece));
  child.stderr.on("data", (piece) => stderr.push(piece));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString(), code };
}
