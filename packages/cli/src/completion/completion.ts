import type { Command } from "commander";
import { bashScript } from "./bash.ts";
import { type CommandShape, commandShapes } from "./command-shape.ts";
import { fishScript } from "./fish.ts";
import { zshScript } from "./zsh.ts";

const scripts: ReadonlyMap<string, (program: CommandShape, commands: readonly CommandShape[]) => string> = new Map([
  ["bash", bashScript],
  ["zsh", zshScript],
  ["fish", fishScript],
]);

/** Generates a completion script from the command tree, so the two cannot diverge. */
export function completionScript(shell: string, program: Command): string {
  const script = scripts.get(shell);
  if (script === undefined) throw new Error(`no completion script for ${shell}`);
  const [root, ...commands] = commandShapes(program);
  return script(root, commands);
}
