import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

export interface NodeProgram {
  readonly program: string;
  /** As `26.2.0`. */
  readonly version: string;
}

/** The program of a version of Node, such as `26`, which npm installs if it is not there yet. */
export async function nodeProgram(version: string): Promise<NodeProgram> {
  const print = 'node -p "JSON.stringify({ program: process.execPath, version: process.versions.node })"';
  return JSON.parse(await outputOf("npx", ["-y", "-p", `node@${version}`, "-c", print]));
}

/** What a program prints on standard output. */
export async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [output, code] = await Promise.all([
    text(child.stdout),
    new Promise((resolve, reject) => child.once("close", resolve).once("error", reject)),
  ]);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}`);
  return output;
}
